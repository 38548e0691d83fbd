import { count, plural } from '../../lib/text.ts'
import { JsonView } from './json-view.ts'
import { ageIn, numberNear, type Question } from './question.ts'
import { lastOf, type Next, NOT_APPLICABLE, type SeenCall, type Skill } from './skill.ts'
import { findTable, namedIn } from './table-finder.ts'
import { bullets, moment, problem, quoted } from './words.ts'

interface TableChange {
  readonly matches: RegExp
  /** The tool that proposes it. */
  readonly tool: string
  /** Name of the operation in health reports. */
  readonly operation: string
  /** The tool that only plans it; undefined when there is none, as the proposal contains the same plan. */
  readonly planTool?: string
  readonly args?: (question: Question) => object
}

const CHANGES: readonly TableChange[] = [
  {
    matches: /\b(rewrite|merge|compact) (the )?manifests?\b/,
    tool: 'rewrite_manifests',
    operation: 'rewrite_manifests',
  },
  {
    matches: /\b(expire|expiry|expiring|expiration|expired|old snapshots|clean up snapshots|vacuum)\b/,
    tool: 'expire_snapshots',
    operation: 'expire',
    planTool: 'plan_expiry',
    args: expiryOptions,
  },
  {
    matches: /\b(compact|compaction|compacting|compacted|optimi[sz]e|bin.?pack|small files)\b/,
    tool: 'compact',
    operation: 'compact',
    planTool: 'plan_compaction',
  },
]

function expiryOptions({ lower, now }: Question): object {
  const keep = numberNear(lower, 'keep|keeping|retain|retaining|retain_last|but|except')
  // "All but the last 5" includes recent snapshots.
  const age = ageIn(lower) ?? (keep !== undefined && /\ball\b/.test(lower) ? 0 : undefined)
  return {
    ...(age === undefined ? {} : { older_than: new Date(now.getTime() - age).toISOString() }),
    ...(keep === undefined || keep === 0 ? {} : { retain_last: keep }),
  }
}

/** "Who compacted it?" is about past operations. */
const PAST_OPERATION =
  /^who\b|\b(last|latest) (compaction|expiry)\b|\bwhen (was|were|did)\b|\b(was|were|been) (last )?(compacted|expired)\b/
const ALL_TABLES =
  /\b(all|every|everything|each|wherever|whatever)\b.*\b(tables?|needs?|everything|possible|necessary)\b|\b(everything|everywhere)\b/

/** Plans and proposals for compaction, expiry and manifest rewrites. */
export const maintenanceSkill: Skill = {
  matches: ({ lower }) => !PAST_OPERATION.test(lower) && CHANGES.some(({ matches }) => matches.test(lower)),
  next(question, seen) {
    const change = CHANGES.find(({ matches }) => matches.test(question.lower))
    if (change === undefined) return NOT_APPLICABLE
    if (isAboutAll(question, seen)) return forAllTables(change, question, seen)
    const found = findTable(question, seen)
    if ('next' in found) return found.next
    const { table } = found
    if (question.isAsking && change.planTool === undefined) {
      const health = lastOf(seen, 'table_health')
      return health ? { say: describeManifests(table, health) } : { calls: [{ tool: 'table_health', args: { table } }] }
    }
    const tool = question.isAsking ? (change.planTool ?? change.tool) : change.tool
    const result = lastOf(seen, tool)
    if (result === undefined) return { calls: [{ tool, args: { table, ...change.args?.(question) } }] }
    return {
      say: tool === change.planTool ? describePlanResult(table, result, change.tool) : describeProposal(table, result),
    }
  },
}

/** Whether the prompt is about all tables: it says so, or it is a question that names none. */
function isAboutAll({ tables, lower, isAsking, earlierTable }: Question, seen: readonly SeenCall[]): boolean {
  if (tables.length > 0) return false
  if (ALL_TABLES.test(lower)) return true
  if (!isAsking || earlierTable !== undefined) return false
  const listed = lastOf(seen, 'list_tables')?.data.at('tables').texts()
  return listed !== undefined && namedIn(lower, listed).length === 0
}

/** Nobody reviews more proposals than this at once. */
const MAX_PROPOSALS = 10

/** Lists every table whose health report recommends the change; a command also proposes the change for each of them. */
function forAllTables({ tool, operation }: TableChange, { isAsking }: Question, seen: readonly SeenCall[]): Next {
  const ranking = lastOf(seen, 'tables_needing_care')
  if (ranking === undefined) return { calls: [{ tool: 'tables_needing_care', args: { limit: 50 } }] }
  if (ranking.error !== undefined) return { say: `I cannot check the tables: ${problem(ranking.error)}` }
  const candidates = ranking.data
    .at('tables')
    .list()
    .flatMap((table) => {
      const actions = table.at('actions').list()
      const reason = actions.find((action) => action.at('operation').text() === operation)?.at('reason')
      return reason === undefined
        ? []
        : [{ table: table.at('table').text(), reason: problem(new JsonView({ message: reason.text() })) }]
    })
    .slice(0, MAX_PROPOSALS)
  const word = operation.replaceAll('_', ' ')
  if (candidates.length === 0) return { say: `No table needs it now: ${word} is not recommended for any of them.` }
  const proposed = seen.filter((call) => call.tool === tool)
  if (!isAsking && proposed.length === 0) return { calls: candidates.map(({ table }) => ({ tool, args: { table } })) }
  const lines = candidates.map(({ table, reason }, at) => {
    const call = proposed[at]
    return call === undefined ? `${quoted(table)}: ${reason}` : describeProposal(table, call)
  })
  const head = isAsking
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
  const reason = problem(new JsonView({ message: action.at('reason').text() }))
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
  const skipped =
    failures.length > 0 ? ` Left out: ${problem(new JsonView({ message: failures[0]?.at('reason').text() }))}.` : ''
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
