import { DEFAULT_APPROVAL_RULE } from '../../../../src/domain/approvals.ts'
import type { EnvironmentSettings, SetEnvironmentRequest } from '../../api/types.ts'

type ParameterValue = EnvironmentSettings['parameters'][string]

export type ParameterType = 'text' | 'number' | 'boolean' | 'secret'

/** A parameter as text; of a secret, the name of its variable without `env:`. */
export interface TypedValue {
  readonly type: ParameterType
  readonly value: string
}

export interface ParameterRow extends TypedValue {
  /** Of the row in the form, not of the parameter. */
  readonly id: number
  readonly name: string
}

export type WindowKind = EnvironmentSettings['windows'][number]['kind']

/** A window; `dates` has one date or range per line, and none for every date. */
export interface WindowRow {
  /** Of the row in the form. */
  readonly id: number
  readonly kind: WindowKind
  readonly timezone: string
  readonly days: readonly string[]
  readonly from: string
  readonly to: string
  readonly dates: string
}

/** The rules for moves and deployments; empty texts are rules that are off. */
export interface RuleForm {
  readonly approvals: {
    /** Whether moves need approvals at all. */
    readonly on: boolean
    readonly required: string
    readonly forbid_self: boolean
    readonly expires_after: string
  }
  readonly windows: readonly WindowRow[]
  readonly rollback_if: {
    readonly lag_over: string
    readonly failed_batches: string
    readonly within: string
  }
}

/** The values of the form of an environment, named after the fields of the request; `writes` has one rule per line. */
export interface EnvironmentForm extends RuleForm {
  readonly parameters: readonly ParameterRow[]
  readonly writes: string
  readonly deploy: EnvironmentSettings['deploy']
  readonly defaults: {
    readonly trigger_interval: string
    readonly checkpoint_root: string
    readonly max_files_per_batch: string
    readonly max_bytes_per_batch: string
  }
}

/** What begins the value of a secret. */
export const SECRET = 'env:'

/** The type and the text of a parameter. */
export function typedValue(value: ParameterValue): TypedValue {
  if (typeof value === 'number') return { type: 'number', value: String(value) }
  if (typeof value === 'boolean') return { type: 'boolean', value: String(value) }
  return value.startsWith(SECRET) ? { type: 'secret', value: value.slice(SECRET.length) } : { type: 'text', value }
}

/** The form for current settings. */
export function toForm(settings: EnvironmentSettings): EnvironmentForm {
  const { parameters, writes, deploy, defaults } = settings
  const { trigger_interval, checkpoint_root, max_files_per_batch: files, max_bytes_per_batch: bytes } = defaults
  return {
    parameters: Object.entries(parameters).map(([name, value], id) => ({ id, name, ...typedValue(value) })),
    writes: writes.join('\n'),
    deploy,
    defaults: {
      trigger_interval,
      checkpoint_root,
      max_files_per_batch: String(files),
      max_bytes_per_batch: String(bytes),
    },
    ...toRules(settings),
  }
}

function toRules({ approvals, windows, rollback_if: rollbackIf }: EnvironmentSettings): RuleForm {
  const { required, forbid_self, expires_after } = approvals ?? DEFAULT_APPROVAL_RULE
  const { lag_over, failed_batches, within } = rollbackIf ?? NO_ROLLBACK
  return {
    approvals: { on: approvals !== null, required: String(required), forbid_self, expires_after: expires_after ?? '' },
    windows: windows.map(({ dates, ...window }, id) => ({ id, ...window, dates: (dates ?? []).join('\n') })),
    rollback_if: { lag_over: lag_over ?? '', failed_batches: String(failed_batches ?? ''), within },
  }
}

/** What the form shows for an environment without the rule. */
const NO_ROLLBACK = { lag_over: null, failed_batches: null, within: '1 hour' }

/** The rules in a text with one per line. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** The members of a request that differ from the settings; undefined when none does. */
export function changedMembers(
  base: EnvironmentSettings,
  { parameters, writes, deploy, defaults = {}, ...rules }: SetEnvironmentRequest,
): SetEnvironmentRequest | undefined {
  const before: Readonly<Record<string, unknown>> = base.defaults
  const options = Object.entries(defaults).filter(([name, value]) => value !== before[name])
  const change: SetEnvironmentRequest = {
    ...(parameters === undefined || canonical(parameters) === canonical(base.parameters) ? {} : { parameters }),
    ...(writes === undefined || canonical(writes) === canonical(base.writes) ? {} : { writes }),
    ...(deploy === undefined || deploy === base.deploy ? {} : { deploy }),
    ...(options.length === 0 ? {} : { defaults: Object.fromEntries(options) }),
    ...changedRules(base, rules),
  }
  return Object.keys(change).length === 0 ? undefined : change
}

type Rules = Pick<SetEnvironmentRequest, (typeof RULES)[number]>

const RULES = ['approvals', 'windows', 'rollback_if'] as const

function changedRules(base: EnvironmentSettings, rules: Rules): Rules {
  const changed = RULES.filter((name) => rules[name] !== undefined && textOf(rules[name]) !== textOf(base[name]))
  return Object.fromEntries(changed.map((name) => [name, rules[name]]))
}

/** A text that is the same for the same rules, whose members the service orders. */
function textOf(rules: unknown): string {
  return JSON.stringify(rules)
}

/** A text that is the same for the same members in any order. */
function canonical(members: object): string {
  return JSON.stringify(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** A parameter, or another member, in which two settings differ. */
export interface Difference {
  readonly kind: 'parameter' | 'member'
  readonly name: string
}

/** Where two settings differ; members of `defaults` are named one by one. */
export function differences(before: EnvironmentSettings, after: EnvironmentSettings): readonly Difference[] {
  const { writes, deploy, defaults = {}, ...rules } = changedMembers(before, after) ?? {}
  const changed = Object.keys({ ...before.parameters, ...after.parameters }).filter(
    (name) => before.parameters[name] !== after.parameters[name],
  )
  const members = [
    ...(writes === undefined ? [] : ['writes']),
    ...(deploy === undefined ? [] : ['deploy']),
    ...Object.keys(defaults),
    ...RULES.filter((name) => rules[name] !== undefined),
  ]
  return [
    ...changed.map((name): Difference => ({ kind: 'parameter', name })),
    ...members.map((name): Difference => ({ kind: 'member', name })),
  ]
}

/** What the user changed in a form that began with `before`, on top of the settings that were saved meanwhile. */
export function rebase(mine: EnvironmentForm, before: EnvironmentForm, after: EnvironmentForm): EnvironmentForm {
  const pick = <T>(own: T, old: T, now: T): T => (own === old ? now : own)
  const option = (name: keyof EnvironmentForm['defaults']): string =>
    pick(mine.defaults[name], before.defaults[name], after.defaults[name])
  return {
    parameters: rebaseRows(mine.parameters, before.parameters, after.parameters),
    writes: rebaseLines(linesOf(mine.writes), linesOf(before.writes), linesOf(after.writes)).join('\n'),
    deploy: pick(mine.deploy, before.deploy, after.deploy),
    defaults: {
      trigger_interval: option('trigger_interval'),
      checkpoint_root: option('checkpoint_root'),
      max_files_per_batch: option('max_files_per_batch'),
      max_bytes_per_batch: option('max_bytes_per_batch'),
    },
    approvals: pickSame(mine.approvals, before.approvals, after.approvals),
    windows: pickSame(mine.windows, before.windows, after.windows),
    rollback_if: pickSame(mine.rollback_if, before.rollback_if, after.rollback_if),
  }
}

/** A rule as a whole: mine if I have changed it. */
function pickSame<T>(own: T, old: T, now: T): T {
  return textOf(own) === textOf(old) ? now : own
}

type Rows = readonly ParameterRow[]

function rebaseRows(mine: Rows, before: Rows, after: Rows): ParameterRow[] {
  const old = byName(before)
  const now = byName(after)
  const kept = mine.flatMap((row) => {
    const known = old.get(row.name.trim())
    const isMine = known === undefined || known.type !== row.type || known.value !== row.value
    return isMine ? [row] : [now.get(known.name)].filter((theirs) => theirs !== undefined)
  })
  const names = byName(kept)
  const added = after.filter(({ name }) => !old.has(name) && !names.has(name))
  return [...kept, ...added].map((row, id) => ({ ...row, id }))
}

function byName(rows: Rows): ReadonlyMap<string, ParameterRow> {
  return new Map(rows.map((row) => [row.name.trim(), row]))
}

function rebaseLines(mine: readonly string[], before: readonly string[], after: readonly string[]): string[] {
  const added = after.filter((line) => !before.includes(line) && !mine.includes(line))
  return [...mine.filter((line) => after.includes(line) || !before.includes(line)), ...added]
}
