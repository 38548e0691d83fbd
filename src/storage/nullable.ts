type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], null | undefined> }

/** The properties that have a value: NULL columns become absent properties. */
export function decodeOptional<T extends object>(columns: T): Present<T> {
  const entries = Object.entries(columns).filter(([, value]) => value !== null && value !== undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the filter leaves just these
  return Object.fromEntries(entries) as Present<T>
}
