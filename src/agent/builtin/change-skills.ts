import { count, plural } from '../../domain/table-health.ts'
import { JsonView } from './json-view.ts'
import { ageIn, numberNear, type Question } from './question.ts'
import { lastOf, type Next, type SeenCall, type Skill } from './skill.ts'
import { findTable } from './table-finder.ts'
import { moment, problem, quoted } from './words.ts'

interface TableChange {
  readonly matches: RegExp
  /** Proposes it. */
  readonly tool: string
  /** Only tells what it would do; undefined: there is no such tool, and proposing tells as much. */
  readonly planTool?: string
  readonly args?: (question: Question) => object
}

const CHANGES: readonly TableChange[] = [
  { matches: /\b(rewrite|merge|compact) (the )?manifests?\b/, tool: 'rewrite_manifests' },
  {
    matches: /\b(expire|expiry|expiring|expiration|expired|old snapshots|clean up snapshots|vacuum)\b/,
    tool: 'expire_snapshots',
    planTool: 'plan_expiry',
    args: expiryOptions,
  },
  {
    matches: /\b(compact|compaction|compacting|compacted|optimi[sz]e|bin.?pack|small files)\b/,
    tool: 'compact',
    planTool: 'plan_compaction',
  },
]

function expiryOptions({ lower, now }: Question): object {
  const age = ageIn(lower)
  const keep = numberNear(lower, 'keep|keeping|retain|retaining|retain_last')
  return {
    ...(age === undefined ? {} : { older_than: new Date(now.getTime() - age).toISOString() }),
    ...(keep === undefined || keep === 0 ? {} : { retain_last: keep }),
  }
}

/** Compaction, expiry and manifests: what they would do, and proposals to do it. */
const maintenanceSkill: Skill = {
  matches: ({ lower }) => CHANGES.some(({ matches }) => matches.test(lower)),
  next(question, seen) {
    const change = CHANGES.find(({ matches }) => matches.test(question.lower))
    const found = findTable(question, seen)
    if ('next' in found || change === undefined) return 'next' in found ? found.next : { say: '' }
    const { table } = found
    if (question.isAsking && change.planTool === undefined) {
      const health = lastOf(seen, 'table_health')
      return health ? { say: tellManifests(table, health) } : { calls: [{ tool: 'table_health', args: { table } }] }
    }
    const tool = question.isAsking ? (change.planTool ?? change.tool) : change.tool
    const result = lastOf(seen, tool)
    if (result === undefined) return { calls: [{ tool, args: { table, ...change.args?.(question) } }] }
    return { say: tool === change.planTool ? tellPlan(table, result, change.tool) : tellProposal(table, result) }
  },
}

/** Whether merging manifests is worth it, as the health report says. */
function tellManifests(table: string, { data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot look at ${quoted(table)}: ${problem(error)}`
  const manifests = plural(data.at('manifest_count').number(), 'manifest')
  const action = data
    .at('actions')
    .list()
    .find((one) => one.at('operation').text() === 'rewrite_manifests')
  if (action === undefined) return `${quoted(table)} has ${manifests}; merging them is not worth it now.`
  const reason = problem(new JsonView({ message: action.at('reason').text() }))
  return `${quoted(table)} has ${manifests}. ${reason}. To have it done, write "rewrite manifests of ${table}".`
}

function tellPlan(table: string, { data, error }: SeenCall, tool: string): string {
  if (error !== undefined) return `I cannot plan that for ${quoted(table)}: ${problem(error)}`
  const plan = data.at('plan')
  const summary = data.at('summary').text()
  const extra = tool === 'compact' ? tellCompaction(plan) : tellExpiry(plan)
  const order = tool === 'compact' ? `"compact ${table}"` : `"expire snapshots of ${table}"`
  const isNothing = summary.startsWith('there is nothing')
  return isNothing
    ? `Nothing: ${summary}.${extra}`
    : `${summary}.${extra} Nothing has been changed. To have it done, write ${order}; it then waits for your confirmation.`
}

function tellCompaction(plan: JsonView): string {
  const groups = plan.at('groups_count').number()
  const rows = plan.at('rows_read').number()
  const failures = plan.at('failures').list()
  const skipped =
    failures.length > 0 ? ` Left out: ${problem(new JsonView({ message: failures[0]?.at('reason').text() }))}.` : ''
  return groups > 0
    ? ` That is ${plural(groups, 'group')} with ${plural(rows, 'row')}; no row changes.${skipped}`
    : skipped
}

function tellExpiry(plan: JsonView): string {
  const pins = plan.at('pinned_by').list()
  const oldest = plan.at('expired_snapshots').list()[0]?.at('committed_at').text()
  const since = oldest ? ` The oldest of them is from ${moment(oldest)}.` : ''
  const kept = plan.at('kept_snapshots_count').number()
  return pins.length > 0 ? `${since} ${count(kept)} more stay because pipelines have still to read them.` : since
}

/** What came of a tool that proposes. */
export function tellProposal(subject: string, { data, error }: SeenCall): string {
  if (error !== undefined) return `I cannot propose that for ${quoted(subject)}: ${problem(error)}`
  const summary = data.at('summary').text()
  const action = data.at('pending_action')
  if (!action.exists) return `${summary}.`
  const until = moment(action.at('expires_at').text())
  return `${summary}. Nothing has been changed yet: this waits for your confirmation as action ${quoted(action.at('id').text())}, until ${until}.`
}

const NAME = '[`"\']?([\\p{L}_][\\p{L}\\p{N}_.]*)[`"\']?'
const ADD = new RegExp(
  `\\badd (?:a |the )?(?:new )?column ${NAME}(?: of type| as| with type|:)? ([a-z]+(?:\\([\\d, ]+\\))?)(?= to\\b| in\\b| on\\b|$)`,
  'iu',
)
const RENAME = new RegExp(`\\brename (?:the )?column ${NAME}(?: (?:of|in|on) \\S+)? (?:to|into|as) ${NAME}`, 'iu')
const DROP = new RegExp(`\\b(?:drop|remove) (?:the )?column ${NAME}`, 'iu')

/** Columns: proposals to add, rename and drop one. */
const columnSkill: Skill = {
  matches: ({ text }) => ADD.test(text) || RENAME.test(text) || DROP.test(text),
  next(question, seen) {
    const { tool, args } = columnChange(question.text)
    const columns = Object.values(args).map((name) => name.toLowerCase())
    // `payload.kind` in "drop column payload.kind" is a column, and no table.
    const tables = question.tables.filter((name) => !columns.includes(name.toLowerCase()))
    const found = findTable({ ...question, tables }, seen)
    if ('next' in found) return found.next
    const result = lastOf(seen, tool)
    if (result === undefined) return { calls: [{ tool, args: { table: found.table, ...args } }] }
    return { say: tellProposal(found.table, result) }
  },
}

function columnChange(text: string): { readonly tool: string; readonly args: Readonly<Record<string, string>> } {
  const add = ADD.exec(text)
  if (add) return { tool: 'add_column', args: { name: add[1] ?? '', type: add[2] ?? '' } }
  const rename = RENAME.exec(text)
  if (rename) return { tool: 'rename_column', args: { name: rename[1] ?? '', new_name: rename[2] ?? '' } }
  return { tool: 'drop_column', args: { name: DROP.exec(text)?.[1] ?? '' } }
}

const DECIDING = /\b(approve|reject|promote|demote|retire|withdraw)\b/
const DELETING = /\b(delete|drop|remove|truncate|purge|wipe|erase|destroy)\b/

/** What the agent never does. */
const refusalSkill: Skill = {
  matches: ({ lower, isAsking }) => !isAsking && (DECIDING.test(lower) || DELETING.test(lower)),
  next({ lower }): Next {
    const what = DECIDING.test(lower)
      ? 'I cannot approve, reject, promote, demote or retire anything: people decide that, on the page of the approval or the version.'
      : 'I cannot delete tables, rows, pipelines or definitions.'
    return { say: `${what} I can show what waits, and propose compaction, expiry of snapshots and changes of columns.` }
  },
}

/** Skills that propose changes, most special first. */
export const changeSkills: readonly Skill[] = [columnSkill, refusalSkill, maintenanceSkill]
