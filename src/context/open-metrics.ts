import type { Catalog } from '../catalog/catalog.ts'
import type { Config } from '../config/config.ts'
import type { Engine } from '../engines/engine.ts'
import type { Logger } from '../services/logger.ts'
import { createMetricsService, type MetricsService } from '../services/metrics/metrics-service.ts'
import { observedCatalog } from '../services/metrics/observed-catalog.ts'
import { NO_TRACING, openTracing, type Tracing } from '../services/metrics/tracing/tracing.ts'
import { createProbes } from '../services/metrics/probes.ts'
import type { NewOperation } from '../services/operations/ledger.ts'
import { pingState, readStateFigures } from '../storage/state-figures.ts'
import type { OperationOutcome } from '../storage/stores/operations/operation-store.ts'
import { createHealthIndexStore } from '../storage/stores/tables/health-index-store.ts'
import type { BatchObserver } from '../streaming/supervision/run-events.ts'
import { VERSION } from '../config/version.ts'
import type { State } from './open-state.ts'

/** What the metrics read; known later than the parts that report to them. */
export interface MetricsSources {
  readonly state: State
  readonly engine: Engine
  readonly now: () => Date
}

/** The metrics, and what other parts report to them. */
export interface Metrics {
  readonly service: MetricsService
  /** Traces nothing when no collector is configured. */
  readonly tracing: Tracing
  readonly batches: BatchObserver
  onOperation(operation: NewOperation, outcome: OperationOutcome): void
  observeCatalog(catalog: Catalog): Catalog
  /** Says where the state of the service is read. Before, only observations are exposed. */
  connect(sources: MetricsSources): void
}

/** Creates the metrics of this process, and its traces if they are configured. */
export async function openMetrics({ traces }: Pick<Config, 'traces'>, log: Logger): Promise<Metrics> {
  const nowMs = (): number => performance.now()
  const startedAt = { monotonic: nowMs(), wall: Date.now() }
  const tracing = traces === undefined ? NO_TRACING : await openTracing({ ...traces, version: VERSION })
  let sources: MetricsSources | undefined
  const service = createMetricsService({
    nowMs,
    onError: (probe, error) => log.warn('metrics could not be read', { probe, error }),
    probes: () => (sources === undefined ? [] : probesOf(sources, startedAt)),
  })
  return {
    service,
    tracing,
    batches: {
      onBatch({ batch_duration_ms: ms, num_input_rows: rows }) {
        service.batch({ seconds: ms / 1000, rows })
        tracing.record({ name: 'batch', seconds: ms / 1000, attributes: { 'lockhouse.rows': rows } })
      },
      onFailure: () => service.batchFailure(),
    },
    onOperation({ kind }, { state: outcome, durationMs, bytesRead, bytesWritten }) {
      const seconds = durationMs === undefined ? undefined : durationMs / 1000
      service.operation({ kind, outcome, seconds, bytesRead, bytesWritten })
      const attributes = { 'lockhouse.operation': kind, 'lockhouse.outcome': outcome }
      const isError = outcome === 'failed' || outcome === 'unknown'
      tracing.record({ name: `operation ${kind}`, seconds: seconds ?? 0, attributes, isError })
    },
    observeCatalog: (catalog) =>
      observedCatalog(catalog, async (operation, work, isFailed) => {
        const began = nowMs()
        const done = (isError: boolean): void =>
          service.catalogCall({ operation, isError, seconds: (nowMs() - began) / 1000 })
        try {
          const result = await tracing.span({ name: `catalog ${operation}`, isPart: true }, work)
          done(isFailed?.(result) ?? false)
          return result
        } catch (error) {
          done(true)
          throw error
        }
      }),
    connect(given) {
      sources = given
    },
  }
}

interface StartTimes {
  readonly monotonic: number
  readonly wall: number
}

function probesOf({ state, engine, now }: MetricsSources, startedAt: StartTimes) {
  const index = createHealthIndexStore(state.db)
  return createProbes({
    version: VERSION,
    runtime: runtimeName(),
    uptimeSeconds: () => (performance.now() - startedAt.monotonic) / 1000,
    process: () => {
      const { user, system } = process.cpuUsage()
      return {
        cpuSeconds: (user + system) / 1e6,
        residentBytes: process.memoryUsage.rss(),
        startedAtSeconds: startedAt.wall / 1000,
      }
    },
    engine: async () => engine.load?.(),
    pingState: () => pingState(state.db),
    state: () => readStateFigures(state.db, now().getTime()),
    tables: () => index.totals(),
    nowMs: () => performance.now(),
  })
}

function runtimeName(): string {
  if ('Bun' in globalThis) return 'bun'
  return 'Deno' in globalThis ? 'deno' : 'node'
}
