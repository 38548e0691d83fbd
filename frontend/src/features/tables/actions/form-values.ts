import { formatBytes } from '../../../components/units.ts'
import { fromTimeInput, toTimeInput, type Zone } from '../../../time/zone.ts'
import { fieldErrors } from '../../../strings/table-actions.ts'
import type { ActionSpec, FieldSpec } from './action-specs.ts'

/** What a form holds, by the names of its fields; fields without an entry are empty. */
export type FormValues = Readonly<Record<string, string | boolean>>
export type FormErrors = Readonly<Record<string, string>>

export interface ReadForm {
  /** Fields of the request, without the table; empty ones are left out. */
  readonly request: Readonly<Record<string, unknown>>
  readonly errors: FormErrors
}

/** Turns what a form holds into a request, or says what is wrong with it; its times are those of `zone`. */
export function readForm(spec: ActionSpec, values: FormValues, zone: Zone): ReadForm {
  const request: Record<string, unknown> = {}
  const errors: Record<string, string> = {}
  for (const field of spec.fields) {
    if (!isAsked(field, values)) continue
    const read = readField(field, values[field.name], zone)
    if ('error' in read) errors[field.name] = read.error
    else if (read.value !== undefined && field.local !== true) request[field.name] = read.value
  }
  if (values['position'] === 'first' && spec.fields.some(({ name }) => name === 'position')) request['first'] = true
  return { request, errors }
}

/** Whether a field is asked for, given what the others hold. */
export function isAsked({ when }: FieldSpec, values: FormValues): boolean {
  return when === undefined || values[when.field] === when.is
}

/** What a form must hold to make this request; the other way round of {@link readForm}. */
export function fillForm(spec: ActionSpec, request: Readonly<Record<string, unknown>>, zone: Zone): FormValues {
  const values: Record<string, string | boolean> = {}
  for (const { name, type } of spec.fields) {
    const value = request[name]
    if (value === undefined || value === null) continue
    if (typeof value === 'boolean') values[name] = value
    else if (Array.isArray(value)) values[name] = value.join(', ')
    else if (type === 'size' && typeof value === 'number') values[name] = exactSize(value)
    else if (type === 'time' && typeof value === 'string') values[name] = toTimeInput(value, zone)
    else if (typeof value === 'string' || typeof value === 'number') values[name] = String(value)
  }
  if (request['first'] === true) values['position'] = 'first'
  else if (request['after'] !== undefined) values['position'] = 'after'
  return values
}

type Read = { readonly value: unknown } | { readonly error: string }

function readField(field: FieldSpec, given: string | boolean | undefined, zone: Zone): Read {
  if (typeof given === 'boolean') return { value: given ? true : undefined }
  const text = given?.trim() ?? ''
  if (text === '') return field.required === true ? { error: fieldErrors.required } : { value: undefined }
  switch (field.type) {
    case 'count':
      return readCount(text)
    case 'ratio':
      return readRatio(text)
    case 'size':
      return readSize(text)
    case 'time':
      return readTime(text, zone)
    case 'ids':
      return readIds(text)
    default:
      return { value: text }
  }
}

function readCount(text: string): Read {
  const value = Number(text.replaceAll(/[,\s]/g, ''))
  return Number.isSafeInteger(value) && value >= 1 ? { value } : { error: fieldErrors.wholeNumber(1) }
}

function readRatio(text: string): Read {
  const value = Number(text)
  return value > 0 && value <= 1 ? { value } : { error: fieldErrors.ratio }
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1000,
  mb: 1000 ** 2,
  gb: 1000 ** 3,
  tb: 1000 ** 4,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
}

/** Bytes of a size that people write: `512 MiB`, `1.5gib`, `1000000`; undefined when it is none. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim())
  const factor = UNITS[match?.[2]?.toLowerCase() ?? '?']
  if (match?.[1] === undefined || factor === undefined) return undefined
  const bytes = Math.round(Number(match[1]) * factor)
  return Number.isSafeInteger(bytes) ? bytes : undefined
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
  const ids = text.split(/[\s,]+/).filter((id) => id !== '')
  return ids.every((id) => /^\d{1,19}$/.test(id)) ? { value: ids } : { error: fieldErrors.ids }
}
