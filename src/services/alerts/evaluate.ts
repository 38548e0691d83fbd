import { parseDuration } from '../../domain/duration.ts'
import type { IdSource } from '../../domain/ids.ts'
import { createAlertDeliveryStore } from '../../storage/stores/alerts/alert-delivery-store.ts'
import { type AlertRecord, createAlertStore } from '../../storage/stores/alerts/alert-store.ts'
import {
  type AlertCondition,
  type ConditionStore,
  createConditionStore,
} from '../../storage/stores/alerts/condition-store.ts'
import { createEventStore } from '../../storage/stores/event-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import { type EventView, toEventView } from '../events/event-feed.ts'
import { type ConditionChange, conditionChange, matchesAlert, objectOf } from './conditions.ts'

export interface EvaluationDeps {
  readonly newId: IdSource
  readonly now: () => Date
}

/** An alert that looks at an event. */
interface Look {
  readonly alert: AlertRecord
  readonly event: EventView
  readonly nowMs: number
}

/** A condition that waits to be told. */
interface Waiting {
  readonly alert: AlertRecord
  readonly event: EventView
  readonly key: string
  readonly dueMs: number
}

/** What to tell of an event. */
interface Notice {
  readonly kind: 'trigger' | 'resolve'
  readonly conditionKey: string | null
}

/**
 * Applies events to all alerts: conditions open and close, and deliveries are added. All in one transaction, which keeps
 * other processes out, so that each event is applied once. Events must be those after what the alerts have seen.
 */
export async function applyEvents(deps: EvaluationDeps, tx: Tx, events: readonly EventView[]): Promise<void> {
  const alerts = await createAlertStore(tx).list()
  const evaluation = await Evaluation.over(deps, tx)
  for (const event of events) {
    for (const alert of alerts) if (alert.sinceSeq < event.seq) await evaluation.apply(alert, event)
  }
  const last = events.at(-1)
  if (last !== undefined) await createAlertStore(tx).advance(last.seq)
}

/** Notifies of the waiting conditions that are due; in a transaction as {@link applyEvents}. */
export async function applyDue(deps: EvaluationDeps, tx: Tx): Promise<void> {
  const evaluation = await Evaluation.over(deps, tx)
  const conditions = createConditionStore(tx)
  for (const { alert_id: id, condition_key: key, event_seq: seq } of await conditions.due(deps.now().getTime())) {
    const alert = await createAlertStore(tx).find(id)
    const event = await createEventStore(tx).find(seq)
    if (alert !== undefined && event !== undefined && matchesAlert(alert.settings, toEventView(event))) {
      await evaluation.fallDue(alert, toEventView(event), key)
    } else await evaluation.drop(id, key) // the alert was changed meanwhile
  }
}

class Evaluation {
  readonly #deps: EvaluationDeps
  readonly #tx: Tx
  readonly #conditions: ConditionStore
  /** All stored conditions: most events concern none, and must cost no query. */
  readonly #known: Map<string, AlertCondition>

  private constructor(deps: EvaluationDeps, tx: Tx, known: readonly AlertCondition[]) {
    this.#deps = deps
    this.#tx = tx
    this.#conditions = createConditionStore(tx)
    this.#known = new Map(known.map((condition) => [keyOf(condition.alert_id, condition.condition_key), condition]))
  }

  static async over(deps: EvaluationDeps, tx: Tx): Promise<Evaluation> {
    return new Evaluation(deps, tx, await createConditionStore(tx).list())
  }

  async apply(alert: AlertRecord, event: EventView): Promise<void> {
    const change = conditionChange(event)
    const isWanted = matchesAlert(alert.settings, event)
    const look = { alert, event, nowMs: this.#deps.now().getTime() }
    if (change?.does === 'close') await this.#close(look, change, isWanted)
    else if (isWanted && change !== undefined) await this.#begin(look, change)
    else if (isWanted) await this.#tell(look, { kind: 'trigger', conditionKey: null })
  }

  /** A condition has waited: it is notified, unless its object has just been notified of. */
  async fallDue(alert: AlertRecord, event: EventView, key: string): Promise<void> {
    const dueMs = await this.#cooldownEndMs(alert, event)
    if (dueMs <= this.#deps.now().getTime()) return this.#open(alert, event, key)
    await this.#wait({ alert, event, key, dueMs })
  }

  async #open(alert: AlertRecord, event: EventView, key: string): Promise<void> {
    const isSent = await this.#notify({ alert, event, nowMs: this.#deps.now().getTime() }, trigger(key))
    const isTold = isSent || this.#isTold(alert.id, key)
    await this.#save({
      alert_id: alert.id,
      condition_key: key,
      event_seq: event.seq,
      state: 'open',
      is_told: isTold,
      due_ms: 0,
    })
  }

  /** Whether an opening event of this condition was sent before: then its end is sent too. */
  #isTold(alertId: string, key: string): boolean {
    return this.#known.get(keyOf(alertId, key))?.is_told === true
  }

  /** A condition begins: it is notified at once, or waits for `for` or for the end of the cooldown. */
  async #begin({ alert, event, nowMs }: Look, { key }: ConditionChange): Promise<void> {
    const known = this.#known.get(keyOf(alert.id, key))
    const { for: lasts } = alert.settings
    // Without `for` nothing waits for the clock: that of the process that wrote the event may be ahead.
    const lastsFromMs = lasts === undefined ? 0 : Date.parse(event.at) + durationMs(lasts)
    const dueMs =
      known?.state === 'waiting' ? known.due_ms : Math.max(lastsFromMs, await this.#cooldownEndMs(alert, event))
    if (dueMs <= nowMs && known?.state !== 'waiting') return this.#open(alert, event, key)
    await this.#wait({ alert, event, key, dueMs })
  }

  async #wait({ alert, event, key, dueMs }: Waiting): Promise<void> {
    await this.#save({
      alert_id: alert.id,
      condition_key: key,
      event_seq: event.seq,
      state: 'waiting',
      is_told: this.#isTold(alert.id, key),
      due_ms: dueMs,
    })
  }

  async #save(condition: AlertCondition): Promise<void> {
    this.#known.set(keyOf(condition.alert_id, condition.condition_key), condition)
    await this.#conditions.save(condition)
  }

  /** Stops the wait of a condition: without a sent event the condition is forgotten, otherwise its end is still sent. */
  async drop(alertId: string, key: string): Promise<void> {
    const known = this.#known.get(keyOf(alertId, key))
    if (known?.is_told === true) await this.#save({ ...known, state: 'open', due_ms: 0 })
    else await this.#end(alertId, key)
  }

  /** Forgets a condition. */
  async #end(alertId: string, key: string): Promise<void> {
    this.#known.delete(keyOf(alertId, key))
    await this.#conditions.remove(alertId, key)
  }

  /** A condition ends: it is told where an incident was opened, and where the event is wanted for itself. */
  async #close(look: Look, { key }: ConditionChange, isWanted: boolean): Promise<void> {
    const { alert } = look
    const known = this.#known.get(keyOf(alert.id, key))
    if (known !== undefined) await this.#end(alert.id, key)
    const isTold = known?.is_told === true
    if (known?.state === 'waiting' && !isTold) return this.#forget(look)
    const resolve: Notice = { kind: 'resolve', conditionKey: key }
    if (!hasIncidents(alert)) {
      if (isWanted) await this.#tell(look, resolve)
    } else if (isWanted || isTold) await this.#insert(look, resolve, 0)
  }

  /** A condition ended before anyone was told of it: its end is not told either, and counts in a cooldown. */
  async #forget(look: Look): Promise<void> {
    if ((await this.#cooldownEndMs(look.alert, look.event)) > look.nowMs) await this.#holdBack(look)
  }

  /** Notifies, unless the object is in its cooldown: then the event is counted. */
  async #tell(look: Look, notice: Notice): Promise<void> {
    if ((await this.#cooldownEndMs(look.alert, look.event)) > look.nowMs) await this.#holdBack(look)
    else await this.#notify(look, notice)
  }

  /** Adds a delivery; false when the alert is silenced, and it is only recorded. */
  async #notify(look: Look, notice: Notice): Promise<boolean> {
    const { alert, event, nowMs } = look
    const object = objectOf(event)
    const cooldown = await this.#conditions.cooldown(alert.id, object)
    const isSilenced = isSilent(alert, nowMs)
    await this.#insert(look, notice, cooldown?.heldBack ?? 0)
    if (!isSilenced && alert.settings.cooldown !== undefined) {
      await this.#conditions.saveCooldown(alert.id, object, { notifiedMs: nowMs, heldBack: 0 })
    }
    return !isSilenced
  }

  async #insert({ alert, event, nowMs }: Look, { kind, conditionKey }: Notice, heldBack: number): Promise<void> {
    const at = new Date(nowMs).toISOString()
    // An incident that was opened before the silence can be closed in it.
    const isSilenced = isSilent(alert, nowMs) && !(kind === 'resolve' && hasIncidents(alert))
    await createAlertDeliveryStore(this.#tx).insert({
      id: this.#deps.newId('dlv'),
      alertId: alert.id,
      kind,
      conditionKey,
      eventSeq: event.seq,
      heldBack,
      state: isSilenced ? 'silenced' : 'pending',
      attempts: 0,
      nextAttemptAt: isSilenced ? null : at,
      lastStatus: null,
      lastError: null,
      createdAt: at,
      finishedAt: isSilenced ? at : null,
    })
  }

  async #holdBack({ alert, event }: Look): Promise<void> {
    const object = objectOf(event)
    const cooldown = await this.#conditions.cooldown(alert.id, object)
    if (cooldown === undefined) return
    await this.#conditions.saveCooldown(alert.id, object, { ...cooldown, heldBack: cooldown.heldBack + 1 })
  }

  async #cooldownEndMs({ id, settings }: AlertRecord, event: EventView): Promise<number> {
    if (settings.cooldown === undefined) return 0
    const cooldown = await this.#conditions.cooldown(id, objectOf(event))
    return cooldown === undefined ? 0 : cooldown.notifiedMs + durationMs(settings.cooldown)
  }
}

function keyOf(alertId: string, key: string): string {
  return `${alertId} ${key}`
}

function trigger(conditionKey: string): Notice {
  return { kind: 'trigger', conditionKey }
}

function durationMs(text: string | undefined): number {
  return text === undefined ? 0 : (parseDuration(text) ?? 0)
}

/** Whether the channel keeps incidents open until they are resolved. */
function hasIncidents({ settings }: AlertRecord): boolean {
  return settings.channel.type === 'pagerduty'
}

/** Whether an alert is silenced at this time. */
export function isSilent({ silencedUntil }: AlertRecord, nowMs: number): boolean {
  return silencedUntil !== undefined && Date.parse(silencedUntil) > nowMs
}
