import type { RequestContext } from '../../domain/audit.ts'
import { type ChangeRequest, managerChange, requireManager } from '../../domain/change-request.ts'
import { parseDuration } from '../../domain/duration.ts'
import { DomainError } from '../../domain/errors.ts'
import { requireVersion } from '../../domain/precondition.ts'
import type { alertList, AlertDeliveryView, AlertRequest, AlertView, changedAlert } from '../../schemas/alerts.ts'
import type { Wire } from '../../schemas/wire.ts'
import { type AlertDelivery, createAlertDeliveryStore } from '../../storage/stores/alerts/alert-delivery-store.ts'
import { type AlertRecord, createAlertStore } from '../../storage/stores/alerts/alert-store.ts'
import { createConditionStore } from '../../storage/stores/alerts/condition-store.ts'
import { createEventStore } from '../../storage/stores/event-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { EventWriter } from '../events/event-log.ts'
import { cursorPage, fromCursorPage, type ListPage, pageOfList, type PageQuery } from '../paging/paging.ts'
import type { AlertDeps } from './alert-deps.ts'
import { sendAlert } from './alert-dispatcher.ts'
import { alertView, deliveryView } from './alert-views.ts'
import { hideSecrets, type SettledChannel, settleChannel } from './channel-secrets.ts'
import { attemptDelivery, LEASE_MS } from './delivery-loop.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** An alert after a change, with the secret that was made for it. */
export type ChangedAlert = Wire<typeof changedAlert>

/** Manages alert rules (docs/api.md#alerts). */
export interface AlertService {
  /** By name. */
  list(page: PageQuery): Promise<Wire<typeof alertList>>
  /** Throws `NOT_FOUND`, as all that take an id. */
  get(id: string): Promise<AlertView>
  /** Throws `CONFLICT` for a name that is taken, `UNPROCESSABLE` for an address that is not allowed. */
  create(request: AlertRequest, context: RequestContext, managedBy?: string): Promise<ChangedAlert>
  /** Replaces the settings; `***` keeps a secret. Throws as `create`, `PRECONDITION_FAILED` and `MANAGED`. */
  update(id: string, request: AlertRequest, change: ChangeRequest): Promise<ChangedAlert>
  /** Deletes it with its deliveries. */
  remove(id: string, change: ChangeRequest): Promise<void>
  /** Sends a test once, also while the alert is silenced, and returns what became of it. */
  test(id: string, context: RequestContext): Promise<AlertDeliveryView>
  /** Records notifications without sending them until a time; undefined ends that. Throws `UNPROCESSABLE` for the past. */
  silence(id: string, until: string | undefined, context: RequestContext): Promise<AlertView>
  /** The notifications of an alert, newest first. */
  deliveries(id: string, page: PageQuery): Promise<ListPage<AlertDeliveryView>>
}

export interface AlertServiceDeps extends AlertDeps {
  readonly audit: AuditRecorder
  readonly events: EventWriter
}

/** Alert rules in the state database. */
export function createAlertService(deps: AlertServiceDeps): AlertService {
  const { alerts, deliveries } = deps
  const found = async (id: string): Promise<AlertRecord> => (await alerts.find(id)) ?? unknownAlert(id)
  return {
    async list(page) {
      const counts = await createConditionStore(deps.db).counts()
      const { items, next_page_token } = pageOfList(await alerts.list(), page, 'alerts')
      const views = items.map((alert) => alertView(alert, counts.get(alert.id) ?? 0))
      return { success: true, alerts: views, next_page_token }
    },
    get: async (id) => viewOf(deps, await found(id)),
    create: (request, context, managedBy) => create(deps, { request, managedBy }, context),
    update: (id, request, change) => update(deps, { id, request }, change),
    remove: (id, change) => remove(deps, id, change),
    test: async (id, context) => test(deps, await found(id), context),
    silence: (id, until, context) => silence(deps, { id, until }, context),
    async deliveries(id, query) {
      await found(id)
      const page = await deliveries.list(id, cursorPage(query))
      const { items, next_page_token } = fromCursorPage(page, (delivery) => delivery)
      return { items: await Promise.all(items.map((one) => deliveryView(deps.eventStore, one))), next_page_token }
    },
  }
}

function unknownAlert(id: string): never {
  throw new DomainError('NOT_FOUND', `no alert ${id}`)
}

interface NewAlert {
  readonly request: AlertRequest
  readonly managedBy: string | undefined
}

async function create(
  deps: AlertServiceDeps,
  { request, managedBy }: NewAlert,
  context: RequestContext,
): Promise<ChangedAlert> {
  const settled = settle(deps, request, undefined)
  const alert = await deps.inTransaction(async (tx) => {
    const at = deps.now().toISOString()
    const alert: AlertRecord = {
      id: deps.newId('alr'),
      settings: { ...request, channel: settled.channel },
      silencedUntil: undefined,
      sinceSeq: 0,
      managedBy,
      revision: 1,
      createdBy: context.caller.user,
      createdAt: at,
      updatedAt: at,
    }
    await requireFreeName(tx, alert)
    const details = { after: shown(alert), ...managerChange(undefined, managedBy) }
    await record(deps, tx, { alert, context, action: 'create', details })
    // it is not told of its own creation
    await createAlertStore(tx).insert({ ...alert, sinceSeq: await createEventStore(tx).lastSeq() })
    return alert
  })
  return changed(deps, alert, settled)
}

interface AlertUpdate {
  readonly id: string
  readonly request: AlertRequest
}

async function update(
  deps: AlertServiceDeps,
  { id, request }: AlertUpdate,
  { context, precondition, manager }: ChangeRequest,
): Promise<ChangedAlert> {
  const { alert, settled } = await deps.inTransaction(async (tx) => {
    const store = createAlertStore(tx)
    const old = (await store.find(id)) ?? unknownAlert(id)
    requireVersion(precondition, old.revision)
    const managedBy = requireManager(old.managedBy, manager)
    const settled = settle(deps, request, old)
    const settings = { ...request, channel: settled.channel }
    const alert = { ...old, settings, managedBy, revision: old.revision + 1, updatedAt: deps.now().toISOString() }
    await requireFreeName(tx, alert)
    if (!(await store.update(alert))) requireVersion(() => false, '')
    const details = { before: shown(old), after: shown(alert), ...managerChange(old.managedBy, managedBy) }
    await record(deps, tx, { alert, context, action: 'update', details })
    return { alert, settled }
  })
  return changed(deps, alert, settled)
}

/** The channel to store. Throws `UNPROCESSABLE` also for durations that no clock can add. */
function settle(deps: AlertServiceDeps, request: AlertRequest, old: AlertRecord | undefined): SettledChannel {
  for (const path of ['for', 'cooldown'] as const) {
    const text = request[path]
    if (text === undefined || parseDuration(text) !== undefined) continue
    const message = 'must be a duration such as 10 minutes'
    throw fieldRefusal('UNPROCESSABLE', [{ path, message }])
  }
  return settleChannel(request.channel, old?.settings.channel, deps.rules)
}

async function remove(deps: AlertServiceDeps, id: string, changeRequest: ChangeRequest): Promise<void> {
  const { context, precondition, manager } = changeRequest
  await deps.inTransaction(async (tx) => {
    const store = createAlertStore(tx)
    const alert = (await store.find(id)) ?? unknownAlert(id)
    requireVersion(precondition, alert.revision)
    requireManager(alert.managedBy, manager)
    await store.delete(id)
    await record(deps, tx, { alert, context, action: 'delete', details: { before: shown(alert) } })
  })
}

interface Silence {
  readonly id: string
  readonly until: string | undefined
}

async function silence(deps: AlertServiceDeps, { id, until }: Silence, context: RequestContext): Promise<AlertView> {
  if (until !== undefined && Date.parse(until) <= deps.now().getTime()) refusePast(until)
  const alert = await deps.inTransaction(async (tx) => {
    const store = createAlertStore(tx)
    const old = (await store.find(id)) ?? unknownAlert(id)
    const silencedUntil = until === undefined ? undefined : new Date(until).toISOString()
    await store.silence(id, silencedUntil)
    const alert = { ...old, silencedUntil }
    await record(deps, tx, { alert, context, action: 'silence', details: { until: silencedUntil ?? null } })
    return alert
  })
  return viewOf(deps, alert)
}

function refusePast(until: string): never {
  const message = `must be in the future, and ${until} is not: send a later time, or null to end the silence`
  throw fieldRefusal('UNPROCESSABLE', [{ path: 'until', message }])
}

async function test(deps: AlertServiceDeps, alert: AlertRecord, context: RequestContext): Promise<AlertDeliveryView> {
  const now = deps.now()
  const delivery = {
    id: deps.newId('dlv'),
    alertId: alert.id,
    kind: 'test',
    conditionKey: null,
    eventSeq: null,
    heldBack: 0,
    state: 'pending',
    attempts: 1,
    nextAttemptAt: new Date(now.getTime() + LEASE_MS).toISOString(),
    lastStatus: null,
    lastError: null,
    createdAt: now.toISOString(),
    finishedAt: null,
  } as const
  await deps.inTransaction(async (tx) => {
    await createAlertDeliveryStore(tx).insert(delivery)
    await record(deps, tx, { alert, context, action: 'test', details: { delivery_id: delivery.id } })
  })
  const send = (one: AlertDelivery, signal: AbortSignal) => sendAlert(deps, one, signal)
  await attemptDelivery({ ...deps, send, retryDelaysMs: [] }, delivery, new AbortController().signal)
  return deliveryView(deps.eventStore, (await deps.deliveries.find(delivery.id)) ?? delivery)
}

async function requireFreeName(tx: Tx, { id, settings: { name } }: AlertRecord): Promise<void> {
  const other = await createAlertStore(tx).findByName(name)
  if (other === undefined || other.id === id) return
  const message = `there is an alert named ${name}`
  throw new DomainError('CONFLICT', message, { fields: [{ path: 'name', message }] })
}

interface AlertEntry {
  readonly alert: AlertRecord
  readonly context: RequestContext
  readonly action: 'create' | 'update' | 'delete' | 'silence' | 'test'
  readonly details: object
}

const EVENT_OF = {
  create: 'alert.created',
  update: 'alert.updated',
  delete: 'alert.deleted',
  silence: 'alert.silenced',
  test: undefined,
} as const

async function record({ audit, events }: AlertServiceDeps, tx: Tx, entry: AlertEntry): Promise<void> {
  const { alert, context, action } = entry
  const object = { objectType: 'alert', objectId: alert.id } as const
  const details = JSON.parse(JSON.stringify(entry.details))
  await audit.record(tx, { ...context, ...object, action: `alert.${action}`, details })
  const type = EVENT_OF[action]
  if (type === undefined) return
  const { settings, silencedUntil } = alert
  const data = { alert: settings.name, channel: settings.channel.type, silenced_until: silencedUntil ?? null }
  await events.append(tx, { type, ...object, data })
}

function shown({ settings }: AlertRecord): object {
  return { ...settings, channel: hideSecrets(settings.channel) }
}

async function viewOf({ db }: AlertDeps, alert: AlertRecord): Promise<AlertView> {
  return alertView(alert, (await createConditionStore(db).counts()).get(alert.id) ?? 0)
}

async function changed(deps: AlertDeps, alert: AlertRecord, { newSecret }: SettledChannel): Promise<ChangedAlert> {
  return { ...(await viewOf(deps, alert)), signing_secret: newSecret ?? null }
}
