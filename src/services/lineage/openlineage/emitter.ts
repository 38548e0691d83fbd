import type { Kysely } from 'kysely'

import { loadIfPresent } from '../../../catalog/load-if-present.ts'
import type { IdSource } from '../../../domain/ids.ts'
import { isIcebergError } from '../../../iceberg/errors.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'
import { mapBounded } from '../../../lib/bounded-map.ts'
import { sleep } from '../../../lib/sleep.ts'
import type { StateTables } from '../../../storage/schema.ts'
import { type AlertDelivery, createAlertDeliveryStore } from '../../../storage/stores/alerts/alert-delivery-store.ts'
import { createEventStore } from '../../../storage/stores/event-store.ts'
import { createPipelineStore } from '../../../storage/stores/pipelines/pipeline-store.ts'
import { createSettingsStore } from '../../../storage/stores/settings-store.ts'
import type { InTransaction, Tx } from '../../../storage/transactions.ts'
import type { CatalogService } from '../../catalogs/catalog-service.ts'
import { type EventView, toEventView } from '../../events/event-feed.ts'
import type { Reply, SendMessage } from '../../outbound/http-sender.ts'
import { pipelineFlow } from '../flow.ts'
import { jobFacets, RUN_EVENT_SCHEMA, runFacets, tableFacets } from './facets.ts'
import { type RunChange, runChange } from './run-event.ts'
import { runUuid } from './run-id.ts'

/** Where run events go, and under which names (docs/guide.md#openlineage). */
export interface OpenLineageTarget {
  /** The base address; events go to `/api/v1/lineage` below it. */
  readonly url: string
  readonly apiKey: string | undefined
  /** The namespace of jobs and datasets. */
  readonly namespace: string
}

export interface OpenLineageDeps {
  readonly db: Kysely<StateTables>
  readonly inTransaction: InTransaction
  readonly catalog: Pick<CatalogService, 'hold'>
  readonly send: SendMessage
  readonly target: OpenLineageTarget
  /** A URI that names this release. */
  readonly producer: string
  readonly newId: IdSource
  readonly now: () => Date
}

/** Puts run events into the queue of deliveries, and sends them from there. */
export interface OpenLineageEmitter {
  /** The recipient of its deliveries. */
  readonly recipient: string
  /** Adds a delivery for each new event of the event log that changes a run. */
  schedule(): Promise<void>
  /** Makes one attempt; undefined: the event is gone. */
  send(delivery: AlertDelivery, signal: AbortSignal): Promise<Reply | undefined>
}

/** The `alert_id` of its deliveries. Ids of alerts have a prefix. */
const RECIPIENT = 'openlineage'
/** The event up to which deliveries were added. */
const CURSOR = 'openlineage.events'
const EVENTS_AT_ONCE = 500
/** While so many deliveries wait, further events stay in the event log. */
const MAX_PENDING = 10_000
/** An event is sent without facets of tables that the catalog does not load in this time. */
const LOAD_LIMIT_MS = 3000
const LOADED_AT_ONCE = 4

/** Run events of operations and pipelines for the service at `OPENLINEAGE_URL`. */
export function createOpenLineageEmitter(deps: OpenLineageDeps): OpenLineageEmitter {
  let seen: number | undefined
  return {
    recipient: RECIPIENT,
    async schedule() {
      const newest = await createEventStore(deps.db).lastSeq()
      seen ??= await deps.inTransaction((tx) => beginAt(tx, newest, deps.now()))
      while (seen < newest && (await createAlertDeliveryStore(deps.db).countPending(RECIPIENT)) < MAX_PENDING) {
        seen = await scheduleAfter(deps, seen)
      }
    },
    async send({ eventSeq }, signal) {
      const event = eventSeq === null ? undefined : await createEventStore(deps.db).find(eventSeq)
      const change = event && runChange(toEventView(event))
      if (event === undefined || change === undefined) return undefined
      const body = JSON.stringify(await runEvent(deps, change, { pipelineId: event.object_id, signal }))
      const { url, apiKey } = deps.target
      const headers: Record<string, string> = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }
      return deps.send({ url: `${url.replace(/\/+$/, '')}/api/v1/lineage`, headers, body, signal })
    },
  }
}

/** The stored cursor; the first start begins with what happens from then on. */
async function beginAt(tx: Tx, newest: number, now: Date): Promise<number> {
  const settings = createSettingsStore(tx)
  const known = await settings.get(CURSOR)
  if (known !== undefined) return Number(known.value)
  await settings.set(CURSOR, newest, { expectedRevision: 0, now })
  return newest
}

/** Adds the deliveries of the next events with the cursor. Returns the last event that was seen. */
async function scheduleAfter({ db, inTransaction, newId, now }: OpenLineageDeps, seen: number): Promise<number> {
  const events = (await createEventStore(db).after(seen, EVENTS_AT_ONCE)).map(toEventView)
  const last = events.at(-1)?.seq ?? seen
  const due = events.flatMap((event) => deliveryOf(event, newId, now()) ?? [])
  // events of other kinds cost no transaction
  if (due.length === 0) return last
  return inTransaction(async (tx) => {
    const settings = createSettingsStore(tx)
    const cursor = await settings.get(CURSOR)
    const stored = Number(cursor?.value ?? 0)
    const deliveries = createAlertDeliveryStore(tx)
    for (const delivery of due) if (delivery.eventSeq > stored) await deliveries.insert(delivery)
    if (last > stored) await settings.set(CURSOR, last, { expectedRevision: cursor?.revision ?? 0, now: now() })
    return last
  })
}

/** Deliveries of one run have its id as their condition, so that they arrive in their order. */
function deliveryOf(event: EventView, newId: IdSource, now: Date): (AlertDelivery & { eventSeq: number }) | undefined {
  const change = runChange(event)
  if (change === undefined || runUuid(change.run) === undefined) return undefined
  return {
    id: newId('dlv'),
    alertId: RECIPIENT,
    kind: 'trigger',
    conditionKey: change.run,
    eventSeq: event.seq,
    heldBack: 0,
    state: 'pending',
    attempts: 0,
    nextAttemptAt: now.toISOString(),
    lastStatus: null,
    lastError: null,
    createdAt: now.toISOString(),
    finishedAt: null,
  }
}

interface EventContext {
  readonly pipelineId: string
  readonly signal: AbortSignal
}

/** The message for a change of a run (OpenLineage 2-0-2, `RunEvent`). Tables are described as they are now. */
async function runEvent(deps: OpenLineageDeps, change: RunChange, { pipelineId, signal }: EventContext) {
  const { producer, target } = deps
  const { namespace } = target
  const { inputs, outputs } = await tablesOf(deps, change, pipelineId)
  const tables = await loadTables([...new Set([...inputs, ...outputs])], deps, signal)
  const dataset = (name: string) => ({ namespace, name, facets: tableFacets(tables.get(name), producer) })
  return {
    eventType: change.state,
    eventTime: change.at,
    producer,
    schemaURL: RUN_EVENT_SCHEMA,
    run: { runId: runUuid(change.run), facets: runFacets(change.error, producer) },
    job: { namespace, name: change.job, facets: jobFacets(change.kind, producer) },
    inputs: inputs.map(dataset),
    outputs: outputs.map(dataset),
  }
}

/** The tables of a run: of a pipeline also those of its lookups, and those for diverted rows. */
async function tablesOf({ db }: OpenLineageDeps, change: RunChange, pipelineId: string) {
  const pipeline = change.kind === 'PIPELINE' ? await createPipelineStore(db).find(pipelineId) : undefined
  if (pipeline?.runId !== change.run) return { inputs: change.inputs, outputs: change.outputs }
  const { sources, sinks } = pipelineFlow(pipeline)
  return { inputs: sources, outputs: sinks }
}

async function loadTables(
  names: readonly string[],
  deps: OpenLineageDeps,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Table>> {
  const tables = new Map<string, Table>()
  const loading = mapBounded(names, LOADED_AT_ONCE, async (name) => {
    const table = await load(name, deps)
    if (table !== undefined) tables.set(name, table)
  })
  const late = new AbortController()
  await Promise.race([loading, sleep(LOAD_LIMIT_MS, AbortSignal.any([signal, late.signal]))])
  late.abort()
  return new Map(tables)
}

/** A table as it is now; undefined: it is gone, or the catalog does not answer. */
async function load(name: string, { catalog }: OpenLineageDeps): Promise<Table | undefined> {
  try {
    const held = catalog.hold()
    try {
      return await loadIfPresent(held.catalog, name)
    } finally {
      held.release()
    }
  } catch (error) {
    if (isIcebergError(error)) return undefined
    throw error
  }
}
