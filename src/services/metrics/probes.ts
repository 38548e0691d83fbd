import type { HealthBand } from '../../domain/tables/health-band.ts'
import type { EngineLoad } from '../../engines/engine.ts'
import type { LaneLoad } from '../../engines/fair-slots.ts'
import { PIPELINE_STATES } from '../../schemas/pipelines.ts'
import { LAG_STEPS_S, type StateFigures } from '../../storage/state-figures.ts'
import type { GaugeFamily, GaugeValue, Probe } from './metrics-service.ts'

/** What the probes read. */
export interface ProbeDeps {
  readonly version: string
  readonly runtime: string
  readonly uptimeSeconds: () => number
  readonly process: () => ProcessFigures
  readonly engine: () => Promise<EngineLoad | undefined>
  readonly pingState: () => Promise<void>
  readonly state: () => Promise<StateFigures>
  readonly tables: () => Promise<TableFigures>
  /** A monotonic clock. */
  readonly nowMs: () => number
}

/** What the operating system says of this process. */
export interface ProcessFigures {
  readonly cpuSeconds: number
  readonly residentBytes: number
  readonly startedAtSeconds: number
}

/** Sums over the health index. */
export interface TableFigures {
  readonly bands: Readonly<Record<HealthBand, number>>
  readonly bytes: number
  readonly heldBytes: number
  readonly smallFiles: number
  readonly stale: number
}

const DELIVERY_STATES = ['pending', 'failed'] as const

/** The probes of the service; the number of values does not depend on the number of tables, pipelines or users. */
export function createProbes(deps: ProbeDeps): readonly Probe[] {
  return [
    { name: 'process', read: async () => processFamilies(deps) },
    { name: 'engine', read: async () => engineFamilies(await deps.engine()) },
    { name: 'state', read: () => stateFamilies(deps) },
    { name: 'tables', read: async () => tableFamilies(await deps.tables()) },
  ]
}

function one(name: string, help: string, value: number): GaugeFamily {
  return { name, help, values: [{ value }] }
}

function labelled(label: string, entries: Iterable<readonly [string, number]>): readonly GaugeValue[] {
  return [...entries].map(([key, value]) => ({ labels: { [label]: key }, value }))
}

function processFamilies({ version, runtime, uptimeSeconds, process }: ProbeDeps): readonly GaugeFamily[] {
  const { cpuSeconds, residentBytes, startedAtSeconds } = process()
  return [
    {
      name: 'build_info',
      help: 'Version of the service and the runtime that it runs on; always 1.',
      values: [{ labels: { version, runtime }, value: 1 }],
    },
    one('uptime_seconds', 'Time since the start.', uptimeSeconds()),
    { ...one('process_cpu_seconds_total', 'Processor time, user and system.', cpuSeconds), type: 'counter' },
    one('process_resident_memory_bytes', 'Resident memory.', residentBytes),
    one('process_start_time_seconds', 'Start, in seconds since 1970.', startedAtSeconds),
  ]
}

function engineFamilies(load: EngineLoad | undefined): readonly GaugeFamily[] {
  if (load === undefined) return []
  const { lanes, workers, memoryBytes, memoryLimitBytes } = load
  const each = (value: (lane: LaneLoad) => number): readonly GaugeValue[] =>
    lanes.map((lane) => ({ labels: { lane: lane.lane }, value: value(lane) }))
  return [
    { name: 'engine_slots', help: 'Work that may run at the same time, by kind.', values: each(({ limit }) => limit) },
    { name: 'engine_slots_in_use', help: 'Work that runs, by kind.', values: each(({ running }) => running) },
    { name: 'engine_waiting', help: 'Work that waits for a slot, by kind.', values: each(({ waiting }) => waiting) },
    one('engine_query_workers', 'Processes that run SQL of users.', workers),
    one('engine_memory_bytes', 'Memory that the engine holds in this process.', memoryBytes),
    one('engine_memory_limit_bytes', 'Memory that the engine may hold (ENGINE_MEMORY_LIMIT).', memoryLimitBytes),
  ]
}

async function stateFamilies({ pingState, state, nowMs }: ProbeDeps): Promise<readonly GaugeFamily[]> {
  const askedAt = nowMs()
  await pingState()
  const latency = (nowMs() - askedAt) / 1000
  const { runningOperations, pipelines, lag, deliveries, lastEvent, auditEntries } = await state()
  return [
    one('state_latency_seconds', 'Time of a round trip to the state database.', latency),
    one('operations_running', 'Operations of all processes that run now.', runningOperations),
    {
      name: 'pipelines',
      help: 'Streaming pipelines of all processes by state.',
      values: labelled(
        'state',
        PIPELINE_STATES.map((name) => [name, pipelines.get(name) ?? 0]),
      ),
    },
    one('pipeline_lag_max_seconds', 'Lag of the pipeline that is furthest behind.', lag.maxSeconds),
    one('pipeline_lag_rows', 'Unread rows of all pipelines, as of their last batches.', lag.rows),
    one('pipeline_lag_bytes', 'Unread bytes of all pipelines, as of their last batches.', lag.bytes),
    {
      name: 'pipelines_behind',
      help: 'Pipelines whose lag is more than so many seconds.',
      values: labelled(
        'over_seconds',
        LAG_STEPS_S.map((step, at) => [String(step), lag.behind[at] ?? 0]),
      ),
    },
    {
      name: 'alert_deliveries',
      help: 'Notifications of alerts, signed webhooks included, that wait, or that failed for good and are still kept.',
      values: labelled(
        'state',
        DELIVERY_STATES.map((name) => [name, deliveries.get(name) ?? 0]),
      ),
    },
    one('event_last_sequence', 'Number of the newest event.', lastEvent),
    one('audit_last_sequence', 'Number of the newest entry of the audit log.', auditEntries),
  ]
}

function tableFamilies({ bands, bytes, heldBytes, smallFiles, stale }: TableFigures): readonly GaugeFamily[] {
  return [
    {
      name: 'tables',
      help: 'Tables by health, from the health index.',
      values: labelled('band', Object.entries(bands)),
    },
    one('tables_data_bytes', 'Data files of the current snapshots of all tables.', bytes),
    one('tables_held_bytes', 'Files that only old snapshots hold.', heldBytes),
    one('tables_small_files', 'Data files that are smaller than they should be.', smallFiles),
    one('tables_stale', 'Tables whose freshness target has passed.', stale),
  ]
}
