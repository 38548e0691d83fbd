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

/** The values of the form of an environment, named after the fields of the request; `writes` has one rule per line. */
export interface EnvironmentForm {
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
export function toForm({ parameters, writes, deploy, defaults }: EnvironmentSettings): EnvironmentForm {
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
  }
}

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
  { parameters, writes, deploy, defaults = {} }: SetEnvironmentRequest,
): SetEnvironmentRequest | undefined {
  const before: Readonly<Record<string, unknown>> = base.defaults
  const options = Object.entries(defaults).filter(([name, value]) => value !== before[name])
  const change: SetEnvironmentRequest = {
    ...(parameters === undefined || canonical(parameters) === canonical(base.parameters) ? {} : { parameters }),
    ...(writes === undefined || canonical(writes) === canonical(base.writes) ? {} : { writes }),
    ...(deploy === undefined || deploy === base.deploy ? {} : { deploy }),
    ...(options.length === 0 ? {} : { defaults: Object.fromEntries(options) }),
  }
  return Object.keys(change).length === 0 ? undefined : change
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
  const { writes, deploy, defaults = {} } = changedMembers(before, after) ?? {}
  const changed = Object.keys({ ...before.parameters, ...after.parameters }).filter(
    (name) => before.parameters[name] !== after.parameters[name],
  )
  const members = [
    ...(writes === undefined ? [] : ['writes']),
    ...(deploy === undefined ? [] : ['deploy']),
    ...Object.keys(defaults),
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
  }
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
