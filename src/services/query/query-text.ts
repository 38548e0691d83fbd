import type { NamedTable } from '../../engines/sql-sandbox.ts'

/** A table that a query names, and the relation that stands for it. */
export interface ReplacedTable {
  readonly named: NamedTable
  readonly relation: string
}

/**
 * The query with a relation in the place of each table. A table without an alias keeps the last part of its name as one, so that
 * columns can be qualified by it. The result is SQL of a user: check it before it runs.
 */
export function withRelations(sql: string, replaced: readonly ReplacedTable[]): string {
  let text = ''
  let at = 0
  for (const { named, relation } of replaced) {
    const alias = named.hasAlias ? '' : ` AS ${quoted(named.levels.at(-1) ?? relation)}`
    text += `${sql.slice(at, named.start)}${relation}${alias}`
    at = named.end
  }
  return text + sql.slice(at)
}

/** A SQL identifier in quotes. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
