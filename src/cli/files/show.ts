import type { JsonChange } from '../../domain/json/json-changes.ts'
import { jsonText, plainText } from '../text.ts'
import type { MadeChange } from './apply.ts'
import type { Pair } from './compare.ts'
import { type Action, ACTIONS, type FilePlan, type PlannedObject } from './plan.ts'
import type { Place } from './place.ts'

const SIGNS: Readonly<Record<Action, string>> = {
  create: '+',
  update: '~',
  delete: '-',
  release: '-',
  refused: '!',
  unchanged: '=',
}

const PAST: Readonly<Record<Action, string>> = {
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  release: 'released',
  refused: 'refused',
  unchanged: 'unchanged',
}

const MAX_VALUE = 120

/** A plan for people: what changes, and how many objects do. */
export function planText({ objects, left, owner, fingerprint }: FilePlan): string {
  const lines = objects.filter(({ action }) => action !== 'unchanged').flatMap(objectLines)
  const counts = ACTIONS.map((action) => [action, objects.filter((one) => one.action === action).length] as const)
  const summary = counts.filter(([, count]) => count > 0).map(([action, count]) => `${count} ${summaryWord(action)}`)
  const rest = left === 0 ? [] : [`${left} of ${owner} not in the files: --prune removes them`]
  return [...lines, [...summary, ...rest].join(', ') || 'nothing is described', `fingerprint ${fingerprint}`].join('\n')
}

function summaryWord(action: Action): string {
  return action === 'refused' || action === 'unchanged' ? action : `to ${action}`
}

function objectLines({ action, kind, name, changes, reason }: PlannedObject): readonly string[] {
  const note = reason === undefined ? (action === 'release' ? ': keeps its settings' : '') : `: ${reason}`
  const details = action === 'create' ? [] : changes
  return [`${SIGNS[action]} ${plainText(`${kind} ${name}${note}`)}`, ...details.map(changeLine)]
}

/** A change that was made, for people. */
export function madeText({ object: { action, kind, name }, notice }: MadeChange): string {
  return plainText(`${PAST[action]} ${kind} ${name}${notice === undefined ? '' : `: ${notice}`}`)
}

/** The object of a message. */
export function objectText({ action, kind, name }: PlannedObject): string {
  return `${action} ${kind} ${name}`
}

/** A plan for programs. */
export function planJson({ owner, objects, left, fingerprint }: FilePlan): object {
  const counts = Object.fromEntries(
    ACTIONS.map((action) => [action, objects.filter((one) => one.action === action).length]),
  )
  return { success: true, owner, fingerprint, counts, undescribed: left, objects: objects.map(objectJson) }
}

/** One object of a plan for programs. */
export function objectJson({ action, kind, name, changes, reason, place }: PlannedObject): object {
  return { action, kind, name, changes, reason: reason ?? null, ...placeJson(place) }
}

/** A change that was made, for programs. */
export function madeJson({ object: { action, kind, name }, notice }: MadeChange): object {
  return { action, kind, name, notice: notice ?? null }
}

function placeJson(place: Place | undefined): object {
  return { file: place?.file ?? null, line: place?.line ?? null }
}

/** How an object of the files is on the service. */
export type Difference = 'equal' | 'differs' | 'missing' | 'ambiguous'

/** How the object of the files is on the service. */
export function differenceState({ found }: Pair): Difference {
  if (found === undefined) return 'missing'
  if (found === 'ambiguous') return 'ambiguous'
  return found.changes.length === 0 ? 'equal' : 'differs'
}

/** The difference of an object for people; undefined: none. */
export function differenceText(pair: Pair): string | undefined {
  const state = differenceState(pair)
  if (state === 'equal') return undefined
  const { wanted, found } = pair
  const { kind, name, place } = wanted
  const details = found === undefined || found === 'ambiguous' ? [] : found.changes
  const head = `${kind.kind} ${name} (${place.file}:${place.line})`
  const note = { differs: '', missing: ': the service has none', ambiguous: ': several have this name' }[state]
  return [plainText(`${head}${note}`), ...details.map(changeLine)].join('\n')
}

/** The difference of an object for programs. */
export function differenceJson(pair: Pair): object {
  const { wanted, found } = pair
  const changes = found === undefined || found === 'ambiguous' ? [] : found.changes
  const { kind, name, place } = wanted
  return { kind: kind.kind, name, state: differenceState(pair), changes, ...placeJson(place) }
}

function changeLine({ op, path, from, to }: JsonChange): string {
  const before = op === 'add' ? 'nothing' : valueText(from)
  const after = op === 'remove' ? 'nothing' : valueText(to)
  return `    ${plainText(path)}: ${before} → ${after}`
}

function valueText(value: unknown): string {
  const text = jsonText(value)
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE - 1)}…`
}
