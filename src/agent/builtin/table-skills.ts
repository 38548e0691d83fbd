import { count, formatBytes, plural } from '../../lib/text.ts'
import type { JsonView } from './json-view.ts'
import { lastOf, NOT_APPLICABLE, oneCall, type SeenCall, type Skill } from './skill.ts'
import { findTable, namedIn } from './table-finder.ts'
import { bullets, moment, problem, quoted } from './words.ts'

const TABLES = /\b(tables?|lakehouse|catalog|warehouse|everything|anything|something)\b/
const CARE =
  /\b(need|needs|needing|require|requires|deserve)\b.*\b(care|attention|maintenance|work|help|compact\w*|expir\w*|clean\w*|fix\w*)\b|\b(unhealthy|sick|worst|bad shape|poor health|fragmented|neglected|in trouble)\b|\bwhat should (i|we|be)\b.*\b(do|clean|compact|maintain|done)\b|\bhealth of (the|my|our|all) (lakehouse|tables|warehouse|catalog|lake)\b|\bhow (healthy|is the health)\b|\b(any|what|which|are there) (problems?|issues?|troubles?)\b|\b(any|are there any) problems?\b|^(give me |show me )?(an? |the )?(overview|health|status|summary)[ ?!.]*$|\b(state|status|condition|overview|summary) of (the|my|our|all) (lakehouse|tables|warehouse|catalog|lake)\b|\bwhat (can|could|should) (i|we) (clean|do|improve|tidy)\b|\b(everything|all) (is )?(ok|okay|fine|good|well|healthy|in order)\b|\bhow (is|are) (the|my|our) (lakehouse|tables|warehouse|lake)\b|\b(small files|too many files)\b.*\b(which|where|tables)\b|\b(which|what) tables?\b.*\b(small files|score|health|deletes|delete files|compact\w*|maintenance|attention|care)\b/

/** Which tables need care, and why. */
const careSkill: Skill = {
  matches: ({ lower, tables }) => tables.length === 0 && CARE.test(lower),
  next: (_, seen) => oneCall({ tool: 'tables_needing_care', args: { limit: 10 } }, seen, describeCare),
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

const LIST = /\b(list|show|which|what|all|how many|give me)\b.*\btables\b|^tables\b/

/** Which tables there are. */
const listSkill: Skill = {
  matches: ({ lower, tables }) => tables.length === 0 && LIST.test(lower),
  next: (_, seen) =>
    oneCall({ tool: 'list_tables', args: {} }, seen, ({ data, error, truncated }) => {
      if (error !== undefined) return `I cannot list the tables: ${problem(error)}`
      const names = data.at('tables').texts()
      if (names.length === 0) return 'There are no tables in the catalog.'
      const head = truncated
        ? `The first ${plural(names.length, 'table')}:`
        : `There ${names.length === 1 ? 'is' : 'are'} ${plural(names.length, 'table')}:`
      return `${head}\n\n${bullets(names.map(quoted), 50)}`
    }),
}

const SNAPSHOTS = /\b(snapshots?|history|commits?|last (change|write|commit)|changed|written)\b/

/** Snapshots of a table. */
const snapshotSkill: Skill = {
  matches: ({ lower, isAsking }) => isAsking && SNAPSHOTS.test(lower) && !/\bexpir|\bcompact/.test(lower),
  next(question, seen) {
    const found = findTable(question, seen)
    if ('next' in found) return found.next
    return oneCall({ tool: 'list_snapshots', args: { table: found.table } }, seen, ({ data, error, truncated }) => {
      if (error !== undefined) return `I cannot read the snapshots of ${quoted(found.table)}: ${problem(error)}`
      const snapshots = data.at('snapshots').list()
      if (snapshots.length === 0) return `${quoted(found.table)} has no snapshots.`
      const head = `${quoted(found.table)} has ${truncated ? 'more than ' : ''}${plural(snapshots.length, 'snapshot')}, newest first:`
      return `${head}\n\n${bullets(snapshots.map(describeSnapshot), 10)}`
    })
  },
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

const ABOUT =
  /\b(hold|holds|contain|contains|describe|about|schema|columns?|fields?|look like|looks like|structure|big|large|size|rows|records|health|healthy|score|state|status|overview|details?|summary|files|partition\w*|stored|in it|inside|why)\b/

const POINTING = /\b(it|its|that|this|there|them|same|the table)\b/

/** Columns and health of a table. The list of tables is needed to know which words are table names. */
const aboutSkill: Skill = {
  matches: ({ lower, tables }) =>
    (tables.length > 0 && !/\b(pipeline|operations?|approv\w+)\b/.test(lower)) || ABOUT.test(lower),
  next(question, seen) {
    const listed = lastOf(seen, 'list_tables')?.data.at('tables').texts()
    const { lower, tables, earlierTable } = question
    const isPointing = POINTING.test(lower) && earlierTable !== undefined
    const isAboutTables = tables.length > 0 || TABLES.test(lower) || isPointing
    if (!isAboutTables && listed !== undefined && namedIn(lower, listed).length === 0) return NOT_APPLICABLE
    const found = findTable(question, seen)
    if ('next' in found) return found.next
    const args = { table: found.table }
    const schema = lastOf(seen, 'get_schema')
    const health = lastOf(seen, 'table_health')
    if (schema === undefined || health === undefined) {
      return {
        calls: [
          { tool: 'get_schema', args },
          { tool: 'table_health', args },
        ],
      }
    }
    return { say: describeTable(found.table, schema, health) }
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

const SIZES =
  /\b(how (large|big|much)|size|space|storage)\b.*\b(all|together|total|lakehouse|warehouse|catalog|tables)\b|\btotal (size|space|storage)\b|\b(largest|biggest) tables?\b/

/** How large all tables are. */
const sizeSkill: Skill = {
  matches: ({ lower, tables }) => tables.length === 0 && SIZES.test(lower),
  next: (_, seen) =>
    oneCall({ tool: 'tables_needing_care', args: { limit: 50 } }, seen, ({ data, error, truncated }) => {
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
    }),
}

/** Skills about tables, most specific first; {@link tableFallback} comes after all other skills. */
export const tableSkills: readonly Skill[] = [sizeSkill, listSkill, snapshotSkill]
export const careFirst: Skill = careSkill
export const tableFallback: Skill = aboutSkill
