import { type PolicyOperation, POLICY_OPERATIONS } from '../../../../src/domain/tables/operations.ts'
import type { Policy, PolicyRequest } from '../../api/types.ts'
import { type AddProblem, formSchema, type FormSchema } from '../../components/form/form-schema.ts'
import { numberIn } from '../../components/form/number-in.ts'
import { parseSize } from '../../components/form/parse-size.ts'
import { checkedPolicyRequest } from '../../components/form/schemas.ts'
import { policyForm } from '../../strings/policies.ts'
import { localZone } from '../../time/zone.ts'
import { linesOf } from '../environments/form.ts'

const words = policyForm.problems

/** The conditions with a figure. */
export const CONDITIONS = [
  'health_below',
  'small_files_over',
  'delete_ratio_over',
  'equality_delete_files_over',
  'snapshots_over',
  'commits_since_last_over',
] as const

export type Condition = (typeof CONDITIONS)[number]

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

interface OperationFields {
  readonly on: boolean
  /** A JSON object; empty: none. */
  readonly options: string
}

/** The values of the form of a policy, named after the fields of the request; lists of tables have one pattern per line. */
export interface PolicyForm {
  readonly name: string
  readonly tables: string
  readonly except: string
  readonly priority: string
  readonly operations: Readonly<Record<PolicyOperation, OperationFields>>
  /** Figures as text; the ratio in percent. */
  readonly when: Readonly<Record<Condition, string>> & {
    readonly schedule: { readonly cron: string; readonly timezone: string }
  }
  readonly window: {
    readonly on: boolean
    readonly days: readonly string[]
    readonly from: string
    readonly to: string
    readonly timezone: string
  }
  readonly budget: { readonly bytes_per_hour: string; readonly concurrent_operations: string }
  readonly cooldown: string
  readonly mode: 'shadow' | 'active'
}

/** The form of a new policy: it compacts unhealthy tables, in shadow mode. */
export function emptyForm(): PolicyForm {
  const zone = localZone()
  return {
    name: '',
    tables: '',
    except: '',
    priority: '',
    operations: operationFields([{ operation: 'compact' }]),
    when: {
      health_below: '80',
      small_files_over: '',
      delete_ratio_over: '',
      equality_delete_files_over: '',
      snapshots_over: '',
      commits_since_last_over: '',
      schedule: { cron: '', timezone: zone },
    },
    window: { on: false, days: [...DAYS], from: '22:00', to: '06:00', timezone: zone },
    budget: { bytes_per_hour: '', concurrent_operations: '' },
    cooldown: '',
    mode: 'shadow',
  }
}

/** The form of a stored policy. */
export function toForm(policy: Policy): PolicyForm {
  const empty = emptyForm()
  const { when, window, budget } = policy
  return {
    name: policy.name,
    tables: policy.tables.join('\n'),
    except: policy.except.join('\n'),
    priority: String(policy.priority),
    operations: operationFields(policy.operations),
    when: {
      health_below: textOf(when.health_below),
      small_files_over: textOf(when.small_files_over),
      delete_ratio_over: textOf(when.delete_ratio_over === undefined ? undefined : toPercent(when.delete_ratio_over)),
      equality_delete_files_over: textOf(when.equality_delete_files_over),
      snapshots_over: textOf(when.snapshots_over),
      commits_since_last_over: textOf(when.commits_since_last_over),
      schedule: when.schedule ?? empty.when.schedule,
    },
    window: window === undefined ? empty.window : { on: true, ...window },
    budget: {
      bytes_per_hour: textOf(budget?.bytes_per_hour),
      concurrent_operations: textOf(budget?.concurrent_operations),
    },
    cooldown: policy.cooldown,
    mode: policy.mode,
  }
}

function operationFields(chosen: PolicyRequest['operations']): PolicyForm['operations'] {
  const fields = POLICY_OPERATIONS.map((name): [PolicyOperation, OperationFields] => {
    const one = chosen.find(({ operation }) => operation === name)
    const options = Object.keys(one?.options ?? {}).length === 0 ? '' : JSON.stringify(one?.options)
    return [name, { on: one !== undefined, options }]
  })
  return Object.fromEntries(fields) as PolicyForm['operations']
}

/** Checks the form of a policy and makes its request. */
export const policySchema: FormSchema<PolicyForm, PolicyRequest> = formSchema(
  checkedPolicyRequest,
  (form: PolicyForm, addProblem) => ({
    name: form.name.trim(),
    tables: linesOf(form.tables),
    except: linesOf(form.except),
    operations: chosenOperations(form, addProblem),
    when: conditions(form.when),
    mode: form.mode,
    ...given('priority', numberIn(form.priority)),
    ...given('cooldown', form.cooldown.trim() || undefined),
    ...(form.window.on ? { window: windowOf(form.window) } : {}),
    ...given('budget', budgetOf(form.budget, addProblem)),
  }),
)

function chosenOperations({ operations }: PolicyForm, addProblem: AddProblem): unknown[] {
  return POLICY_OPERATIONS.filter((name) => operations[name].on).map((operation) => {
    const text = operations[operation].options.trim()
    if (text === '') return { operation }
    const options = jsonObject(text)
    if (options === undefined) addProblem(`operations.${operation}.options`, words.json)
    return { operation, options: options ?? {} }
  })
}

function jsonObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function conditions(when: PolicyForm['when']): Record<string, unknown> {
  const figures = CONDITIONS.map((name) => {
    const value = numberIn(when[name])
    return given(name, value !== undefined && name === 'delete_ratio_over' ? fromPercent(value) : value)
  })
  const { cron, timezone } = when.schedule
  const schedule = cron.trim() === '' ? {} : { schedule: { cron: cron.trim(), timezone: timezone.trim() } }
  return Object.assign({}, ...figures, schedule) as Record<string, unknown>
}

function windowOf({ days, from, to, timezone }: PolicyForm['window']): object {
  return { days: DAYS.filter((day) => days.includes(day)), from, to, timezone: timezone.trim() }
}

function budgetOf(budget: PolicyForm['budget'], addProblem: AddProblem): object | undefined {
  const text = budget.bytes_per_hour.trim()
  const bytes = text === '' ? undefined : parseSize(text)
  if (text !== '' && bytes === undefined) addProblem('budget.bytes_per_hour', words.size)
  const limits = {
    ...given('bytes_per_hour', bytes),
    ...given('concurrent_operations', numberIn(budget.concurrent_operations)),
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

function given(name: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [name]: value }
}

function textOf(value: number | undefined): string {
  return value === undefined ? '' : String(value)
}

/** Percent without the rounding errors of a multiplication: 0.07 is 7, not 7.000000000000001. */
function toPercent(ratio: number): number {
  return Number((ratio * 100).toPrecision(12))
}

function fromPercent(percent: number): number {
  return Number((percent / 100).toPrecision(12))
}
