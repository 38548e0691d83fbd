import type { AlertDelivery } from '../../storage/stores/alerts/alert-delivery-store.ts'
import type { AlertRecord } from '../../storage/stores/alerts/alert-store.ts'
import type { EventView } from '../events/event-feed.ts'

/** How bad an event is, in the words of PagerDuty. */
export type Severity = 'critical' | 'error' | 'warning' | 'info'

/** What a channel tells people. */
export interface Notification {
  /** The same in every attempt, so that a receiver can detect a repetition. */
  readonly id: string
  readonly kind: AlertDelivery['kind']
  readonly alert: { readonly id: string; readonly name: string }
  /** The same for the beginning and the end of a condition. */
  readonly dedupKey: string
  readonly severity: Severity
  readonly title: string
  /** What happened to, for people. */
  readonly subject: string
  readonly facts: readonly Fact[]
  readonly event: SentEvent
  /** How many events the cooldown held back before this one. */
  readonly heldBack: number
}

/** What happened; a test is an event that is in no log. */
export type SentEvent = Omit<EventView, 'seq'> & { readonly seq: number | null }

/** A line of a notification. */
export interface Fact {
  readonly name: string
  readonly value: string
}

/** What is shown of an event's data, with its label. */
const SHOWN: readonly (readonly [key: string, label: string])[] = [
  ['table', 'Table'],
  ['source_table', 'Source'],
  ['sink_table', 'Sink'],
  ['definition', 'Definition'],
  ['environment', 'Environment'],
  ['operation', 'Operation'],
  ['policy', 'Policy'],
  ['score', 'Health score'],
  ['small_file_count', 'Small files'],
  ['freshness_target', 'Freshness target'],
  ['last_commit_at', 'Last commit'],
  ['failures', 'Failures'],
  ['reason', 'Reason'],
]

const ENDINGS: readonly (readonly [ending: string, severity: Severity])[] = [
  ['pipeline.failed', 'critical'],
  ['.failed', 'error'],
  ['.rolled_back', 'warning'],
  ['.unhealthy', 'warning'],
  ['.stale', 'warning'],
  ['.degraded', 'warning'],
  ['.suspended', 'warning'],
]

const MAX_FACT = 1000

/** The notification of a delivery; without an event it is a test. */
export function notificationOf(
  { id, settings }: Pick<AlertRecord, 'id' | 'settings'>,
  delivery: AlertDelivery,
  event: EventView | undefined,
): Notification {
  const { kind, conditionKey, heldBack, createdAt } = delivery
  const alert = { id, name: settings.name }
  const subject = event === undefined ? alert.name : subjectOf(event)
  return {
    id: delivery.id,
    kind,
    alert,
    dedupKey: conditionKey === null ? delivery.id : `${id} ${conditionKey}`,
    severity: event === undefined ? 'info' : severityOf(event.type),
    title: event === undefined ? `Test of the alert ${alert.name}` : `${wordsOf(event.type)}: ${subject}`,
    subject,
    facts: event === undefined ? [] : factsOf(event, heldBack),
    event: event ?? testEvent(id, createdAt),
    heldBack,
  }
}

function testEvent(alertId: string, at: string): SentEvent {
  return { seq: null, at, type: 'alert.test', object_type: 'alert', object_id: alertId, data: {} }
}

function severityOf(type: string): Severity {
  return ENDINGS.find(([ending]) => type.endsWith(ending))?.[1] ?? 'info'
}

/** `pipeline.failed` as `Pipeline failed`. */
function wordsOf(type: string): string {
  const words = type.replaceAll(/[._]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function subjectOf({ object_id: id, data }: EventView): string {
  const [name = id] = [data['definition'], data['table'], data['sink_table'], data['policy']].filter(
    (value) => typeof value === 'string',
  )
  const { environment } = data
  return typeof environment === 'string' ? `${name} (${environment})` : name
}

function factsOf({ type, object_id: id, data }: EventView, heldBack: number): readonly Fact[] {
  const facts = SHOWN.flatMap(([key, name]) => {
    const value = data[key]
    return typeof value === 'string' || typeof value === 'number' ? [{ name, value: String(value) }] : []
  })
  const error = describeError(data['error'])
  const all = [
    ...facts,
    ...(error === undefined ? [] : [{ name: 'Error', value: error }]),
    { name: 'Id', value: id },
    { name: 'Event', value: type },
    ...(heldBack === 0 ? [] : [{ name: 'Held back', value: `${heldBack} earlier events about it` }]),
  ]
  return all.map(({ name, value }) => ({ name, value: cut(value, MAX_FACT) }))
}

function describeError(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error) || !('message' in error)) return undefined
  return `${String(error.code)}: ${String(error.message)}`
}

/** Text of at most `max` UTF-16 code units, without half a character at its end. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text
  const short = text.slice(0, max - 1)
  return `${/[\uD800-\uDBFF]$/.test(short) ? short.slice(0, -1) : short}…`
}
