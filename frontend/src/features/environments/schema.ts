import type { SetEnvironmentRequest } from '../../api/types.ts'
import { type AddProblem, formSchema, type FormSchema } from '../../components/form/form-schema.ts'
import { WEEKDAYS as DAYS } from '../../../../src/domain/policies/calendar.ts'
import { numberIn } from '../../components/form/number-in.ts'
import { setEnvironmentRequest } from '../../components/form/schemas.ts'
import { environmentForm } from '../../strings/environments.ts'
import { formStrings } from '../../strings/everywhere/forms.ts'
import { type EnvironmentForm, linesOf, type ParameterRow, type RuleForm, SECRET, type WindowRow } from './form.ts'

const words = environmentForm.problems

/** Checks the form of an environment and makes a request with all of its members. */
export const environmentSchema: FormSchema<EnvironmentForm, SetEnvironmentRequest> = formSchema(
  setEnvironmentRequest,
  ({ parameters, writes, deploy, defaults, ...rules }: EnvironmentForm, addProblem) => ({
    parameters: parametersOf(parameters, addProblem),
    writes: linesOf(writes),
    deploy,
    defaults: {
      trigger_interval: defaults.trigger_interval.trim(),
      checkpoint_root: defaults.checkpoint_root.trim(),
      max_files_per_batch: numberIn(defaults.max_files_per_batch) ?? '',
      max_bytes_per_batch: numberIn(defaults.max_bytes_per_batch) ?? '',
    },
    ...rulesOf(rules, addProblem),
  }),
)

function rulesOf({ approvals, windows, rollback_if: rollback }: RuleForm, addProblem: AddProblem): object {
  const failedBatches = numberIn(rollback.failed_batches) ?? null
  const lagOver = textIn(rollback.lag_over)
  const isOff = failedBatches === null && lagOver === null
  const approved = {
    required: numberIn(approvals.required) ?? '',
    forbid_self: approvals.forbid_self,
    expires_after: textIn(approvals.expires_after),
  }
  return {
    ...(approvals.on ? { approvals: approved } : {}),
    windows: windows.map((row, index) => windowOf(row, (message) => addProblem(`windows.${index}.dates`, message))),
    rollback_if: isOff ? null : { lag_over: lagOver, failed_batches: failedBatches, within: rollback.within.trim() },
  }
}

function windowOf({ kind, timezone, days, from, to, dates }: WindowRow, addDateProblem: (message: string) => void) {
  const lines = linesOf(dates)
  if (lines.some((line) => !DATES.test(line))) addDateProblem(words.dates)
  return {
    kind,
    timezone: timezone.trim(),
    days: DAYS.filter((day) => days.includes(day)),
    from,
    to,
    dates: lines.length === 0 ? null : lines,
  }
}

const DATES = /^\d{4}-\d{2}-\d{2}(\/\d{4}-\d{2}-\d{2})?$/

function textIn(text: string): string | null {
  return text.trim() === '' ? null : text.trim()
}

/** The parameters of the rows; rows without a name and without a value are left out. */
function parametersOf(rows: readonly ParameterRow[], addProblem: AddProblem): Record<string, unknown> {
  const seen = new Map<string, unknown>()
  for (const [index, row] of rows.entries()) {
    const name = row.name.trim()
    if (name === '' && row.value === '') continue
    const value = valueOf(row)
    const atName = name === '' ? words.nameless : seen.has(name) ? words.twice : undefined
    if (atName !== undefined) addProblem(`parameters.${index}.name`, atName)
    else addRowProblems({ row, name, value }, (field, message) => addProblem(`parameters.${index}.${field}`, message))
    seen.set(name, value)
  }
  return Object.fromEntries(seen)
}

function valueOf({ type, value }: ParameterRow): unknown {
  switch (type) {
    case 'number':
      return isNumber(value) ? Number(value) : Number.NaN
    case 'boolean':
      return value === 'true'
    case 'secret':
      return SECRET + value.trim()
    default:
      return value
  }
}

interface NamedRow {
  readonly row: ParameterRow
  readonly name: string
  readonly value: unknown
}

/** What is wrong with a parameter: what only the form can know, else what the schema of the service says. */
function addRowProblems({ row, name, value }: NamedRow, addProblem: AddProblem): void {
  const own = ownProblem(row)
  if (own !== undefined) addProblem('value', own)
  const checked = setEnvironmentRequest.safeParse({ parameters: { [name]: own === undefined ? value : '' } })
  for (const issue of checked.error?.issues ?? []) {
    if (issue.code === 'invalid_key') addProblem('name', issue.issues[0]?.message ?? issue.message)
    else addProblem('value', issue.message)
  }
}

function ownProblem({ type, value }: ParameterRow): string | undefined {
  if (type === 'secret') return value.trim() === '' ? words.variable : undefined
  if (type === 'text') return value.startsWith(SECRET) ? words.asSecret : undefined
  if (type === 'boolean') return undefined
  if (!isNumber(value)) return formStrings.number
  return significantDigits(value) === significantDigits(String(Number(value))) ? undefined : words.inexact
}

function isNumber(text: string): boolean {
  return /^\s*-?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i.test(text)
}

/** The digits that a number stores, which differ when it was rounded. */
function significantDigits(text: string): string {
  const [digits = ''] = text.trim().toLowerCase().split('e')
  return digits.replaceAll(/[-.]/g, '').replaceAll(/^0+|0+$/g, '')
}
