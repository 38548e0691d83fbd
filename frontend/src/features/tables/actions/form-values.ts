import { numberIn } from '../../../components/form/number-in.ts'
import { parseSize } from '../../../components/form/parse-size.ts'
import { formatBytes } from '../../../strings/everywhere/units.ts'
import { fromTimeInput, toTimeInput, type Zone } from '../../../time/zone.ts'
import { fieldErrors } from '../../../strings/table-actions.ts'
import type { ActionSpec, FieldSpec } from './action-specs.ts'

/** The values of a form by field; a field without an entry is empty. */
export type FormValues = Readonly<Record<string, string | boolean>>

/** Whether the form shows a field, given the values of the others. */
export function isAsked({ when }: FieldSpec, values: FormValues): boolean {
  return when === undefined || [when.is].flat().includes(String(values[when.field] ?? ''))
}

/** The values of a form that makes this request. */
export function fillForm(spec: ActionSpec, request: Readonly<Record<string, unknown>>, zone: Zone): FormValues {
  const values: Record<string, string | boolean> = {}
  for (const field of spec.fields) {
    const value = formValue(field, request[field.name], zone)
    if (value !== undefined) values[field.name] = value
  }
  if (request['first'] === true) values['position'] = 'first'
  else if (request['after'] !== undefined) values['position'] = 'after'
  if (request['to_timestamp'] !== undefined) values['by'] = 'time'
  return values
}

/** The values of a form that is opened for a column, a snapshot or a time; none for an action that is not about one. */
export function fillTarget(spec: ActionSpec, target: string, zone: Zone): FormValues {
  const { targetField, targetTimeField } = spec
  const isTime = targetTimeField !== undefined && !Number.isNaN(Date.parse(target)) && !/^\d+$/.test(target)
  const field = isTime ? targetTimeField : targetField
  return field === undefined ? {} : fillForm(spec, { [field]: target }, zone)
}

/** A value of a request as its field shows it; undefined if the field stays empty. */
function formValue({ type }: FieldSpec, value: unknown, zone: Zone): string | boolean | undefined {
  if (typeof value === 'boolean') return value
  if (type === 'columns') return Array.isArray(value) ? columnsText(value.map(String)) : undefined
  if (Array.isArray(value)) return value.join(', ')
  if (type === 'size' && typeof value === 'number') return exactSize(value)
  if (type === 'time' && typeof value === 'string') return toTimeInput(value, zone)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

/** What a field means for the request: a value, undefined to leave it out, or an error in words. */
type Read = { readonly value: unknown } | { readonly error: string }

/** Converts the text of a field; the range of values is left to the schema of the request. */
export function readField(field: FieldSpec, given: string | boolean | undefined, zone: Zone): Read {
  if (typeof given === 'boolean') return { value: given ? true : undefined }
  const text = given?.trim() ?? ''
  if (text === '') return { value: undefined }
  switch (field.type) {
    case 'count':
    case 'ratio':
      return { value: numberIn(text) }
    case 'size':
      return readSize(text)
    case 'time':
      return readTime(text, zone)
    case 'columns':
      return { value: columnsIn(text) }
    case 'ids':
      return readIds(text)
    default:
      return { value: text }
  }
}

/** Columns as the text of a form, in which names may have any characters; empty for none. */
export function columnsText(names: readonly string[]): string {
  return names.length === 0 ? '' : JSON.stringify(names)
}

/** The columns in the text of a form. */
export function columnsIn(text: string): readonly string[] {
  const names: unknown = text === '' ? [] : JSON.parse(text)
  return Array.isArray(names) ? names.map(String) : []
}

function readSize(text: string): Read {
  const value = parseSize(text)
  return value === undefined ? { error: fieldErrors.size } : { value }
}

function exactSize(bytes: number): string {
  const text = formatBytes(bytes)
  return parseSize(text) === bytes ? text : String(bytes)
}

function readTime(text: string, zone: Zone): Read {
  const value = fromTimeInput(text, zone)
  return value === undefined ? { error: fieldErrors.time } : { value }
}

function readIds(text: string): Read {
  return { value: text.split(/[\s,]+/).filter((id) => id !== '') }
}
