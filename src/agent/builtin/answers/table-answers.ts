import { count, formatBytes, plural } from '../../../lib/text.ts'
import { type Ability, callsTool, lastOf, type SeenCall } from '../ability.ts'
import { findTable, readTable } from '../names/table-finder.ts'
import type { JsonView } from '../json-view.ts'
import { bullets, moment, problem, quoted } from '../text.ts'

/** Which tables need care and why, or how large they are. */
const careAbility: Ability = {
  next(question, seen) {
    const isAboutSize = question.has('large')
    const result = lastOf(seen, 'tables_needing_care')
    if (result === undefined)
      return { calls: [{ tool: 'tables_needing_care', args: { limit: isAboutSize ? 50 : 10 } }] }
    return { say: isAboutSize ? describeSizes(result) : describeCare(result) }
  },
}

function describeCare({ data, error, truncated }: SeenCall): string {
  if (error !== undefined) return `I cannot check the tables: ${problem(error)}`
  const checked = data.at('tables_checked').number()
  const tables = data.at('tables').list()
  const unhealthy = tables.filter((table) => !table.at('score').exists || table.at('score').number() < 100)
  const partly = data.at('truncated').isTrue || (truncated && checked === 0) ? ' Not all tables were checked.' : ''
  if (checked === 0) return `There are no tables to check.${partly}`
  const needing = data.at('tables_needing_care').number()
  if (needing === 0)
    return `None of the ${plural(checked, 'table')} needs care: each has a score of 100 out of 100.${partly}`
  const lines = unhealthy.map((table) => {
    const name = quoted(table.at('table').text())
    if (!table.at('score').exists) return `${name} cannot be read: ${problem(table)}`
    const factors = table
      .at('factors')
      .list()
      .map((factor) => clean(factor.at('detail')))
    const actions = table
      .at('actions')
      .list()
      .map((action) => `${action.at('operation').text()}: ${clean(action.at('reason'))}`)
    const why = factors.length > 0 ? ` because of ${factors.join('; ')}` : ''
    const what = actions.length > 0 ? `. Recommended: ${actions.join('. ')}` : '. No maintenance is recommended now'
    return `${name} has a score of ${table.at('score').text()} out of 100${why}${what}.`
  })
  const head = `${count(needing)} of ${plural(checked, 'table')} ${needing === 1 ? 'is' : 'are'} below a score of 100.${partly}`
  return `${head}\n\n${bullets(lines, 10)}`
}

function clean(view: JsonView): string {
  return view
    .text()
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replaceAll(/[`[\]<>]/g, ' ')
    .trim()
    .replace(/\.$/, '')
}

function describeTables({ data, error, truncated }: SeenCall): string {
  if (error !== undefined) return `I cannot list the tables: ${problem(error)}`
  const names = data.at('tables').texts()
  if (names.length === 0) return 'There are no tables in the catalog.'
  const head = truncated
    ? `The first ${plural(names.length, 'table')}:`
    : `There ${names.length === 1 ? 'is' : 'are'} ${plural(names.length, 'table')}:`
  return `${head}\n\n${bullets(names.map(quoted), 50)}`
}

function describeSnapshots({ data, error, truncated, args }: SeenCall): string {
  const table = args.at('table').text()
  if (error !== undefined) return `I cannot read the snapshots of ${quoted(table)}: ${problem(error)}`
  const snapshots = data.at('snapshots').list()
  if (snapshots.length === 0) return `${quoted(table)} has no snapshots.`
  const head = `${quoted(table)} has ${truncated ? 'more than ' : ''}${plural(snapshots.length, 'snapshot')}, newest first:`
  return `${head}\n\n${bullets(snapshots.map(describeSnapshot), 10)}`
}

function describeSnapshot(snapshot: JsonView): string {
  const summary = snapshot.at('summary')
  const parts = (['added-records', 'deleted-records', 'added-data-files', 'deleted-data-files'] as const).flatMap(
    (name) => {
      const value = summary.at(name).text()
      return value === '' || value === '0' ? [] : [`${count(Number(value))} ${name.replaceAll('-', ' ')}`]
    },
  )
  const operation =
    snapshot
      .at('operation')
      .text()
      .replaceAll(/[^\w-]/g, '') || 'unknown operation'
  return `${moment(snapshot.at('committed_at').text())}: ${operation}${parts.length > 0 ? `, ${parts.join(', ')}` : ''} (${snapshot.at('snapshot_id').text()})`
}

/** Columns and health of a table. */
const aboutAbility: Ability = {
  next(question, seen) {
    const found = findTable(question, seen)
    if ('next' in found) return found.next
    const args = { table: found.table }
    const schema = lastOf(seen, 'get_schema')
    const health = lastOf(seen, 'table_health')
    if (schema !== undefined && health !== undefined) return { say: describeTable(found.table, schema, health) }
    return { calls: ['get_schema', 'table_health'].map((tool) => ({ tool, args })) }
  },
}

function describeTable(table: string, schema: SeenCall, health: SeenCall): string {
  if (schema.error !== undefined) return `I cannot read ${quoted(table)}: ${problem(schema.error)}`
  const columns = schema.data.at('columns').list()
  const lines = columns.map((column) => {
    const name = quoted(column.at('path').text() || column.at('name').text())
    const comment = clean(column.at('comment'))
    return `${name} ${quoted(column.at('type').text())}${column.at('nullable').isTrue ? '' : ', never null'}${comment ? ` (comment: ${quoted(comment)})` : ''}`
  })
  const body = `Columns (${count(columns.length)}):\n\n${bullets(lines, 30)}`
  if (health.error !== undefined)
    return `${quoted(table)}. Its health cannot be determined: ${problem(health.error)}\n\n${body}`
  return `${describeNumbers(table, health.data)}\n\n${body}\n\n${clean(health.data.at('recommendation'))}.`
}

function describeNumbers(table: string, data: JsonView): string {
  const files = data.at('data_file_count').number()
  const average = files === 0 ? '' : `, ${formatBytes(data.at('avg_file_size_bytes').number())} on average`
  const deletes = data.at('delete_file_count').number()
  const rows = plural(data.at('record_count').number(), 'row')
  const written = deletes > 0 ? `${rows} written, some of them deleted by ${plural(deletes, 'delete file')}` : rows
  const size = formatBytes(data.at('total_size_bytes').number())
  const snapshots = plural(data.at('snapshot_count').number(), 'snapshot')
  const score = `Its health score is ${data.at('score').text()} out of 100.`
  return `${quoted(table)} holds ${written}, in ${plural(files, 'data file')} (${size} in total${average}), and has ${snapshots}. ${score}`
}

function describeSizes({ data, error, truncated }: SeenCall): string {
  if (error !== undefined) return `I cannot check the tables: ${problem(error)}`
  const shown = data
    .at('tables')
    .list()
    .filter((table) => table.at('total_size_bytes').exists)
  const bytes = (table: JsonView): number => table.at('total_size_bytes').number()
  const total = formatBytes(shown.reduce((sum, table) => sum + bytes(table), 0))
  const all =
    truncated || data.at('tables_checked').number() > shown.length ? 'The tables that I checked' : 'All tables'
  const lines = shown
    .toSorted((a, b) => bytes(b) - bytes(a))
    .map((table) => {
      const rows = plural(table.at('record_count').number(), 'row')
      const files = plural(table.at('data_file_count').number(), 'data file')
      return `${quoted(table.at('table').text())}: ${formatBytes(bytes(table))}, ${rows}, ${files}`
    })
  return `${all} (${count(shown.length)}) hold ${total} of data in their current snapshots; data kept by older snapshots is not included.\n\n${bullets(lines)}`
}

/** Answers about tables, by tool. */
export const tableAbilities: Readonly<Record<string, Ability>> = {
  list_tables: callsTool({ tool: 'list_tables', reads: [], describe: describeTables }),
  get_schema: aboutAbility,
  table_health: aboutAbility,
  tables_needing_care: careAbility,
  list_snapshots: callsTool({ tool: 'list_snapshots', reads: [readTable], describe: describeSnapshots }),
}
