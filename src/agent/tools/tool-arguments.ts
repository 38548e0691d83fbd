import type { FieldError } from '../../domain/errors.ts'
import { check, fieldErrors, firstSentence } from '../../schemas/issues.ts'
import type { AgentTool } from './tool.ts'

/** Valid arguments of a tool, or what is wrong with them. */
export type ParsedArguments =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly message: string; readonly errors: readonly FieldError[] }

const MAX_TEXT = 20_000
const MAX_ERRORS = 10

/** Parses the arguments of a call, JSON text or an object, with the tool's schema. */
export function parseArguments({ name, input }: AgentTool, raw: unknown): ParsedArguments {
  const object = toObject(raw)
  if (object === undefined) return { message: `the arguments of ${name} must be one JSON object`, errors: [] }
  const result = check(input, object)
  if (result.success) return { value: result.data }
  const errors = fieldErrors(result.error.issues).slice(0, MAX_ERRORS)
  return { message: firstSentence(errors, `the argument object of ${name}`), errors }
}

/** Providers send an object or JSON text, nothing when there are no arguments, and null for omitted ones. */
function toObject(raw: unknown): Readonly<Record<string, unknown>> | undefined {
  const value = typeof raw === 'string' ? parseText(raw) : raw
  if (value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) return raw === undefined ? {} : undefined
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

function parseText(text: string): unknown {
  if (text.length > MAX_TEXT) return undefined
  if (text.trim() === '') return null
  try {
    const value: unknown = JSON.parse(text)
    // Some providers encode the JSON text as a JSON string again.
    return typeof value === 'string' ? (JSON.parse(value) as unknown) : value
  } catch {
    return undefined
  }
}

/** The arguments of a call as JSON for display; text that is not JSON or too long is shown as a JSON string. */
export function shownArguments(raw: unknown): string {
  const value = typeof raw === 'string' ? parseText(raw) : (raw ?? {})
  const text = typeof raw === 'string' && value === undefined ? raw : JSON.stringify(value ?? {})
  return value === undefined || text.length > MAX_TEXT ? JSON.stringify(text.slice(0, MAX_TEXT)) : text
}
