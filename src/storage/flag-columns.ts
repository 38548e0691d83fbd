/** A row whose columns of 0 and 1 are booleans. */
export type WithFlags<Row extends object, Flag extends keyof Row> = Omit<Row, Flag> & Readonly<Record<Flag, boolean>>

/** Converts the columns of these names between the numbers of the database and booleans. */
export function flagColumns<Flag extends string>(...names: readonly Flag[]) {
  return {
    read: <Row extends Readonly<Record<Flag, number>>>(row: Row): WithFlags<Row, Flag> =>
      withColumns(row, names, (name) => row[name] === 1),
    write: <Row extends Readonly<Record<Flag, boolean>>>(row: Row): Omit<Row, Flag> & Record<Flag, number> =>
      withColumns(row, names, (name) => (row[name] ? 1 : 0)),
  }
}

function withColumns<Row extends object, Name extends string, To>(
  row: Row,
  names: readonly Name[],
  valueOf: (name: Name) => To,
): Omit<Row, Name> & Record<Name, To> {
  const copy: Omit<Row, Name> & Partial<Record<Name, To>> = { ...row }
  for (const name of names) Object.assign(copy, { [name]: valueOf(name) })
  return copy as Omit<Row, Name> & Record<Name, To>
}
