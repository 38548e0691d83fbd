import { count, plural } from '../../../lib/text.ts'
import { type Ability, lastOf, type Next, type SeenCall } from '../ability.ts'
import { ageInDays, dayNamed, numberAfter } from '../language/tokens.ts'
import { findTable, namesNoTable } from '../names/table-finder.ts'
import type { Question } from '../question.ts'
import type { JsonView } from '../json-view.ts'
import { bullets, moment, oneLine, problem, quoted } from '../text.ts'

interface TableChange {
  /** The tool that proposes it. */
  readonly tool: string
  /** Name of the operation in health reports. */
  readonly operation: string
  /** The tool that only plans it; undefined when there is none, as the proposal contains the same plan. */
  readonly planTool?: string
  readonly args?: (question: Question) => object
}

const COMPACTION: TableChange = { tool: 'compact', operation: 'compact', planTool: 'plan_compaction' }
const EXPIRY: TableChange = {
  tool: 'expire_snapshots',
  operation: 'expire',
  planTool: 'plan_expiry',
  args: expiryOptions,
}
const DELETES: TableChange = { tool: 'rewrite_position_deletes', operation: 'rewrite_position_deletes' }
const CONVERSION: TableChange = { tool: 'convert_deletes', operation: 'convert_deletes' }
const MANIFESTS: TableChange = { tool: 'rewrite_manifests', operation: 'rewrite_manifests' }

const DAY_MS = 86_400_000
const KEEPING = ['keep', 'keeping', 'retain', 'retaining', 'but', 'except']

function expiryOptions({ tokens, now }: Question): object {
  const keep = numberAfter(tokens, KEEPING)
  // "All but the last 5" includes recent snapshots.
  const isAll = keep !== undefined && tokens.some(({ lower }) => lower === 'all')
  const age = ageInDays(tokens) ?? (isAll ? 0 : undefined)
  const day = dayNamed(tokens)
  const until =
    age === undefined ? (day === undefined ? undefined : new Date(day)) : new Date(now.getTime() - age * DAY_MS)
  return {
    ...(until === undefined || Number.isNaN(until.valueOf()) ? {} : { older_than: until.toISOString() }),
    ...(keep === undefined || keep === 0 ? {} : { retain_last: keep }),
  }
}

/** Plans a change, or proposes it. */
function maintains(change: TableChange, isProposal: boolean): Ability {
  return {
    next(question, seen) {
      if (isAboutAll(question, isProposal, seen)) return forAllTables(change, isProposal, seen)
      const found = findTable(question, seen)
      if ('next' in found) return found.next
      const { table } = found
      if (!isProposal && question.has('manifest')) return aboutManifests(table, seen)
      const tool = isProposal ? change.tool : (change.planTool ?? change.tool)
      const result = lastOf(seen, tool)
      if (result === undefined) return { calls: [{ tool, args: { table, ...change.args?.(question) } }] }
      return { say: isProposal ? describeProposal(table, result) : describePlanResult(table, result, change.tool) }
    },
  }
}

function aboutManifests(table: string, seen: readonly SeenCall[]): Next {
  const health = lastOf(seen, 'table_health')
  return health ? { say: describeManifests(table, health) } : { calls: [{ tool: 'table_health', args: { table } }] }
}

const ALL = new Set(['all', 'every', 'everything', 'each', 'everywhere', 'wherever', 'whatever', 'what'])

/** Whether the prompt is about all tables: it says so, or it is a question that names none. */
function isAboutAll(question: Question, isProposal: boolean, seen: readonly SeenCall[]): boolean {
  if (question.tables.length > 0) return false
  const isOfAll = question.tokens.some(
    ({ lower }) => ALL.has(lower) && (lower !== 'what' || isProposal) && (lower !== 'all' || !question.has('snapshot')),
  )
  return isOfAll || (!isProposal && namesNoTable(question, seen))
}

/** Nobody reviews more proposals than this at once. */
const MAX_PROPOSALS = 10

/** Lists every table whose health report recommends the change; a command also proposes the change for each of them. */
function forAllTables({ tool, operation }: TableChange, isProposal: boolean, seen: readonly SeenCall[]): Next {
  const ranking = lastOf(seen, 'tables_needing_care')
  if (ranking === undefined) return { calls: [{ tool: 'tables_needing_care', args: { limit: 50 } }] }
  if (ranking.error !== undefined) return { say: `I cannot check the tables: ${problem(ranking.error)}` }
  const candidates = ranking.data
    .at('tables')
    .list()
    .flatMap((table) => {
      const actions = table.at('actions').list()
      const reason = actions.find((action) => action.at('operation').text() === operation)?.at('reason')
      return reason === undefined ? [] : [{ table: table.at('table').text(), reason: oneLine(reason.text()) }]
    })
    .slice(0, MAX_PROPOSALS)
  const word = operation.replaceAll('_', ' ')
  if (candidates.length === 0) return { say: `No table needs it now: ${word} is not recommended for any of them.` }
  const proposed = seen.filter((call) => call.tool === tool)
  if (isProposal && proposed.length === 0) return { calls: candidates.map(({ table }) => ({ tool, args: { table } })) }
  const lines = candidates.map(({ table, reason }, at) => {
    const call = proposed[at]
    return call === undefined ? `${quoted(table)}: ${reason}` : describeProposal(table, call)
  })
  const head = !isProposal
    ? `${plural(candidates.length, 'table')} would benefit from it; nothing has been changed:`
    : `${plural(candidates.length, 'table')} would benefit from it:`
  return { say: `${head}\n\n${bullets(lines)}` }
}

/** Whether the health report recommends merging manifests. */
function describeManifests(table: string, { data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot read ${quoted(table)}: ${problem(error)}`
  const manifests = plural(data.at('manifest_count').number(), 'manifest')
  const action = data
    .at('actions')
    .list()
    .find((one) => one.at('operation').text() === 'rewrite_manifests')
  if (action === undefined) return `${quoted(table)} has ${manifests}; merging them is not worth it now.`
  const reason = oneLine(action.at('reason').text())
  return `${quoted(table)} has ${manifests}. ${reason}. To propose it, write "rewrite manifests of ${table}".`
}

function describePlanResult(table: string, { data, error }: SeenCall, tool: string): string {
  if (error !== undefined) return `I cannot plan that for ${quoted(table)}: ${problem(error)}`
  const plan = data.at('plan')
  const summary = data.at('summary').text()
  const extra = tool === 'compact' ? describeCompactionPlan(plan) : describeExpiryPlan(plan)
  const order = tool === 'compact' ? `"compact ${table}"` : `"expire snapshots of ${table}"`
  const isNothing = summary.startsWith('there is nothing')
  const why =
    tool === 'compact'
      ? 'none of its files are worth rewriting'
      : 'all of its snapshots are within the retention settings of the table'
  return isNothing
    ? `Nothing: ${summary}, ${why}.${extra}`
    : `${summary}.${extra} Nothing has been changed. To propose it, write ${order}; it then needs your confirmation.`
}

function describeCompactionPlan(plan: JsonView): string {
  const groups = plan.at('groups_count').number()
  const rows = plan.at('rows_read').number()
  const failures = plan.at('failures').list()
  const skipped = failures.length > 0 ? ` Left out: ${oneLine(failures[0]?.at('reason').text() ?? '')}.` : ''
  return groups > 0
    ? ` That is ${plural(groups, 'group')} with ${plural(rows, 'row')}; no row changes.${skipped}`
    : skipped
}

function describeExpiryPlan(plan: JsonView): string {
  const pins = plan.at('pinned_by').list()
  const oldest = plan.at('expired_snapshots').list()[0]?.at('committed_at').text()
  const since = oldest ? ` The oldest of them is from ${moment(oldest)}.` : ''
  const kept = plan.at('kept_snapshots_count').number()
  return pins.length > 0 ? `${since} ${count(kept)} more are kept because pipelines have not read them yet.` : since
}

/** The result of a tool that proposes a change. */
export function describeProposal(subject: string, { data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot propose that for ${quoted(subject)}: ${problem(error)}`
  const summary = data.at('summary').text()
  const action = data.at('pending_action')
  if (!action.exists) return `${summary}.`
  const until = moment(action.at('expires_at').text())
  return `${summary}. Nothing has been changed yet: confirm action ${quoted(action.at('id').text())} before ${until} to run it.`
}

/** Answers about maintenance, by tool. */
export const maintenanceAbilities: Readonly<Record<string, Ability>> = {
  plan_compaction: maintains(COMPACTION, false),
  compact: maintains(COMPACTION, true),
  plan_expiry: maintains(EXPIRY, false),
  expire_snapshots: maintains(EXPIRY, true),
  convert_deletes: maintains(CONVERSION, true),
  rewrite_position_deletes: maintains(DELETES, true),
  rewrite_manifests: maintains(MANIFESTS, true),
}
