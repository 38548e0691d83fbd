import type { Question } from './question.ts'
import { lastOf, type Next, type SeenCall } from './skill.ts'
import { bullets, problem, quoted } from './words.ts'

/** The table that a question is about, or the next step to find it. */
export type FoundTable = { readonly table: string } | { readonly next: Next }

/** Tables whose name, without its namespace, is a word of a lower-case text. */
export function namedIn(lower: string, tables: readonly string[]): readonly string[] {
  const words = new Set(lower.split(/[^\p{L}\p{N}_-]+/u).filter((word) => word !== '' && !COMMON.has(word)))
  return tables.filter((table) => words.has(table.slice(table.lastIndexOf('.') + 1).toLowerCase()))
}

/** Words that are never taken as the name of a table. */
const COMMON = new Set([
  'table',
  'tables',
  'it',
  'its',
  'the',
  'this',
  'that',
  'snapshots',
  'snapshot',
  'files',
  'data',
])

/** Finds the table of a question: by its full name, by the last part of its name, or from earlier messages. */
export function findTable({ tables, lower, earlierTable }: Question, seen: readonly SeenCall[]): FoundTable {
  const [named] = tables
  if (named !== undefined) return { table: named }
  const listed = lastOf(seen, 'list_tables')
  if (listed === undefined) return { next: { calls: [{ tool: 'list_tables', args: {} }] } }
  if (listed.error !== undefined) return { next: { say: `I cannot list the tables: ${problem(listed.error)}` } }
  const known = listed.data.at('tables').texts()
  const matching = namedIn(lower, known)
  const [only] = matching
  if (only !== undefined && matching.length === 1) return { table: only }
  if (matching.length > 1) {
    return {
      next: { say: `Several tables have that name. Which one do you mean?\n\n${bullets(matching.map(quoted))}` },
    }
  }
  if (earlierTable !== undefined) return { table: earlierTable }
  if (known.length === 0) return { next: { say: 'There are no tables in the catalog.' } }
  if (known.length === 1 && known[0] !== undefined && !listed.truncated) return { table: known[0] }
  return { next: { say: `Which table do you mean? These exist:\n\n${bullets(known.map(quoted))}` } }
}
