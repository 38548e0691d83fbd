import { type Compilable, type CompiledQuery, type Kysely, type QueryResult, type RawBuilder, sql } from 'kysely'

import type { StateTables } from './schema.ts'

/** Placeholder for a named parameter while a query is built. */
class Slot {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** A value that is provided when the query runs. */
export type Parameters<P> = <K extends keyof P & string>(name: K) => RawBuilder<P[K]>

/**
 * A query that is built once per database and run with different parameters: building takes longer than running it.
 * For queries of nearly every request; other queries are built where they are used.
 */
export function prepared<P extends object, R>(
  build: (db: Kysely<StateTables>, parameter: Parameters<P>) => Compilable<R>,
): (db: Kysely<StateTables>, parameters: P) => Promise<QueryResult<R>> {
  // The adapter is the same for a database and its transactions.
  const compiled = new WeakMap<object, BuiltQuery<R>>()
  return (db, parameters) => {
    const { adapter } = db.getExecutor()
    let built = compiled.get(adapter)
    if (built === undefined) {
      const query = build(db, (name) => sql`${new Slot(name)}`).compile()
      built = { query, values: query.parameters.map(valueOf) }
      compiled.set(adapter, built)
    }
    return db.executeQuery({ ...built.query, parameters: built.values.map((value) => value(parameters)) })
  }
}

interface BuiltQuery<R> {
  readonly query: CompiledQuery<R>
  /** Each finds the value of one parameter. */
  readonly values: readonly ((given: object) => unknown)[]
}

function valueOf(parameter: unknown): (given: object) => unknown {
  if (!(parameter instanceof Slot)) return () => parameter
  const { name } = parameter
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Parameters` allows only the names of the object
  return (given) => (given as Readonly<Record<string, unknown>>)[name]
}

/** A row for an insert, in which every column is a parameter of the same name. */
export function parameterRow<P extends object>(parameter: Parameters<P>, columns: readonly (keyof P & string)[]): P {
  const row = Object.fromEntries(columns.map((column) => [column, parameter(column)]))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an insert takes expressions for values
  return row as unknown as P
}
