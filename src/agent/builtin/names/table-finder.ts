import { lastOf, type Next, type Reader, type Reading, type SeenCall } from '../ability.ts'
import type { JsonView } from '../json-view.ts'
import { bullets, problem, quoted } from '../text.ts'
import type { Question } from '../question.ts'
import { DID_YOU_MEAN, WHICH } from './follow-up.ts'

/** The table that a question is about, or the next step to find it. */
export type FoundTable = { readonly table: string } | { readonly next: Next }

/** Tables whose name, without its namespace, is a word of a lower-case text. */
export function namedIn(lower: string, tables: readonly string[]): readonly string[] {
  const words = new Set(lower.split(/[^\p{L}\p{N}_-]+/u).filter((word) => word !== '' && !COMMON.has(word)))
  return tables.filter((table) => words.has(table.slice(table.lastIndexOf('.') + 1).toLowerCase()))
}

/** Words that are never taken as the name of a table. */
const COMMON = new Set(
  'table tables it its the this that snapshots snapshot files data rows columns pipeline pipelines'.split(' '),
)

/** Finds the table of a question: by its full name, by the last part of its name, or from earlier messages. */
export function findTable(question: Question, seen: readonly SeenCall[]): FoundTable {
  const { tables, unknownWords, earlier, lower } = question
  const [named] = tables
  if (named !== undefined) return { table: named }
  if (unknownWords.length > 0) {
    const searched = searchTables(unknownWords.join(' '), seen)
    const found = 'calls' in searched ? { next: searched } : fromSearch(lower, searched)
    if (found !== undefined) return found
  }
  if (earlier.table !== undefined) return { table: earlier.table }
  const all = everyTable(seen)
  return 'calls' in all ? { next: all } : fromList(lower, all)
}

/** Undefined: no table resembles a word of the question. */
function fromSearch(lower: string, { data, error }: SeenCall): FoundTable | undefined {
  if (error !== undefined) return cannotList(error)
  const known = data.at('tables').texts()
  const near = known.length === 0 ? undefined : ask(`${WHICH} table do you mean? ${DID_YOU_MEAN}`, known)
  return namedOf(lower, known) ?? near
}

function fromList(lower: string, listed: SeenCall): FoundTable {
  if (listed.error !== undefined) return cannotList(listed.error)
  return namedOf(lower, listed.data.at('tables').texts()) ?? askAny(listed)
}

function namedOf(lower: string, known: readonly string[]): FoundTable | undefined {
  const matching = namedIn(lower, known)
  const [only] = matching
  if (only === undefined) return undefined
  return matching.length === 1
    ? { table: only }
    : ask(`${WHICH} one do you mean? Several tables have that name`, matching)
}

function cannotList(error: JsonView): FoundTable {
  return { next: { say: `I cannot list the tables: ${problem(error)}` } }
}

function askAny({ data, truncated }: SeenCall): FoundTable {
  const known = data.at('tables').texts()
  if (known.length === 0) return { next: { say: 'There are no tables in the catalog.' } }
  if (known.length === 1 && known[0] !== undefined && !truncated) return { table: known[0] }
  return ask(`${WHICH} table do you mean? These exist`, known)
}

function ask(head: string, names: readonly string[]): FoundTable {
  return { next: { say: `${head}:\n\n${bullets(names.map(quoted))}` } }
}

type Calls = Extract<Next, { readonly calls: unknown }>

const LIST_TABLES: Calls = { calls: [{ tool: 'list_tables', args: {} }] }

/** The list of all tables, or the call that reads it. */
function everyTable(seen: readonly SeenCall[]): SeenCall | Calls {
  return seen.findLast(({ tool, args }) => tool === 'list_tables' && !args.at('matching').exists) ?? LIST_TABLES
}

const MAX_SEARCH = 500

/** Tables whose names resemble a word, or the call that finds them. */
function searchTables(words: string, seen: readonly SeenCall[]): SeenCall | Calls {
  const found = seen.findLast(({ tool, args }) => tool === 'list_tables' && args.at('matching').exists)
  const args = { matching: words.slice(0, MAX_SEARCH).toWellFormed() }
  return found ?? { calls: [{ tool: 'list_tables', args }] }
}

/** Reads `table`, and asks when the question names none. */
export const readTable: Reader = (question, seen) => {
  const found = findTable(question, seen)
  return 'next' in found ? found : { args: { table: found.table } }
}

/** Reads `table` when the question names one. */
export const readNamedTable: Reader = ({ tables, lower, unknownWords }, seen): Reading => {
  if (tables[0] !== undefined) return { args: { table: tables[0] } }
  if (unknownWords.length === 0) return { args: {} }
  const found = searchTables(unknownWords.join(' '), seen)
  if (!('data' in found)) return { next: found }
  const [only, other] = namedIn(lower, found.data.at('tables').texts())
  return { args: only !== undefined && other === undefined ? { table: only } : {} }
}

/** Tables with a name like that of a missing one, or the call that finds them; undefined when nothing is missing. */
export function suggestTables({ error, args }: SeenCall, seen: readonly SeenCall[]): Next | string | undefined {
  const code = error?.at('code').text()
  if (code !== 'NO_SUCH_TABLE' && code !== 'NO_SUCH_NAMESPACE') return undefined
  const found = searchTables(args.at('table').text(), seen)
  if (!('data' in found)) return found
  const names = found.data.at('tables').texts()
  return names.length === 0 ? undefined : `${DID_YOU_MEAN}:\n\n${bullets(names.map(quoted), 5)}`
}

/** Whether a question is about no table in particular: it has no unknown word that names one. */
export function namesNoTable({ tables, unknownWords, lower, earlier }: Question, seen: readonly SeenCall[]): boolean {
  if (tables.length > 0 || earlier.table !== undefined) return false
  if (unknownWords.length === 0) return true
  const found = lastOf(seen, 'list_tables')
  return found !== undefined && namedIn(lower, found.data.at('tables').texts()).length === 0
}
