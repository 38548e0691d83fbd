import { formatBytes, formatCount, formatDelta } from '../../../strings/everywhere/units.ts'
import { details as names, digest } from '../../../strings/table-actions.ts'
import { OPERATIONS } from '../../../../../src/domain/tables/operations.ts'
import type { ActionKind } from './action-specs.ts'

/** A document of an answer: `details_json`, or the result that the ledger keeps. */
export type Details = Readonly<Record<string, unknown>>

export interface NamedFigure {
  readonly name: string
  readonly label: string
  readonly text: string
}

/** Reads `details_json`; an empty document when it is none. */
export function parseDetails(json: string): Details {
  const value: unknown = JSON.parse(json)
  return isDetails(value) ? value : {}
}

/** Whether a value is a JSON object. */
export function isDetails(value: unknown): value is Details {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A number of a document; 0 when it has none by that name. */
export function numberOf(details: Details, name: string): number {
  const value = details[name]
  return typeof value === 'number' ? value : 0
}

/** A text of a document; empty when it has none by that name. */
export function textOf(details: Details, name: string): string {
  const value = details[name]
  return typeof value === 'string' ? value : ''
}

/** The figures of a document that have a name and say something, in the order of their names. */
export function figuresOf(kind: ActionKind, details: Details): readonly NamedFigure[] {
  const main = new Set<string>(OPERATIONS[kind].figures) // shown even when they are 0
  return Object.entries(names).flatMap(([name, label]) => {
    const value = details[name]
    if (typeof value !== 'number' || (value === 0 && !main.has(name))) return []
    return [{ name, label, text: isBytes(name) ? formatBytes(value) : formatCount(value) }]
  })
}

export interface Comparison {
  readonly name: string
  readonly label: string
  readonly before: string
  readonly after: string
  readonly delta: string
  /** Whether the change is an improvement; undefined if it is neutral. */
  readonly better: boolean | undefined
  readonly changed: boolean
}

/** Figures where less is better; of the score more is. */
const LESS_IS_BETTER: ReadonlySet<string> = new Set([
  'data_file_count',
  'small_file_count',
  'delete_file_count',
  'snapshot_count',
  'manifest_count',
])

/** Health before and after, figure by figure. */
export function compareHealth(before: Details, after: Details): readonly Comparison[] {
  return Object.entries(digest).flatMap(([name, label]) => {
    const [a, b] = [before[name], after[name]]
    if (typeof a !== 'number' || typeof b !== 'number') return []
    const format = isBytes(name) ? formatBytes : formatCount
    const better = a === b ? undefined : betterOf(name, b > a)
    return [
      { name, label, before: format(a), after: format(b), delta: formatDelta(b - a, format), better, changed: a !== b },
    ]
  })
}

/** Every change adds one of these, so an increase is not a warning. */
const GROWS: ReadonlySet<string> = new Set(['snapshot_count', 'manifest_count'])

function betterOf(name: string, more: boolean): boolean | undefined {
  if (name === 'score') return more
  if (GROWS.has(name) && more) return undefined
  return LESS_IS_BETTER.has(name) ? !more : undefined
}

function isBytes(name: string): boolean {
  return name.includes('bytes')
}
