import type { PipelineRecord, PipelineUpdate } from '../../storage/stores/pipelines/pipeline-store.ts'
import { fromStoredPosition, toStoredPositions } from '../checkpoint/stored-positions.ts'
import type { PinKeeper } from '../pins/pin-keeper.ts'
import { type BatchProgress, onceOnMain } from '../sink/batch-progress.ts'
import type { MetricsHub } from './metrics-hub.ts'
import { canReadOn } from '../pipeline-errors.ts'
import type { SparkRunEvents } from '../run/pipeline-run.ts'

/** The log methods that the supervisor needs; the service's logger has them. */
export interface SupervisorLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** Sees each batch that is finished, and each attempt that failed. */
export interface BatchObserver {
  onBatch(batch: BatchProgress): void
  onFailure(): void
}

export interface RunEventDeps {
  readonly pins?: PinKeeper
  readonly hub: MetricsHub
  readonly log: SupervisorLog
  readonly observer?: BatchObserver | undefined
  readonly now: () => Date
  /** Stores what a run reports; throws `LeaseLost` when another process runs the pipeline. */
  readonly write: (update: PipelineUpdate) => Promise<void>
  /** Tells subscribers the stored state. */
  readonly publish: () => Promise<unknown>
  /** Called when a run reports that it cannot be stopped yet. */
  readonly onNotStopped: () => void
}

/** Snapshots that stay unread for longer than this are protected from expiry by other engines. */
const RISKY_LAG_MS = 60_000
const FAILURES_BEFORE_PIN = 3

const SKIPPED =
  'snapshots that changed or deleted rows of the source were skipped because on_delete is "skip": the sink keeps rows ' +
  'that the source no longer has, and misses rows that such snapshots added'

/** Stores and publishes what a run of a pipeline reports, and keeps its pins. */
export function createRunEvents(deps: RunEventDeps, record: PipelineRecord): SparkRunEvents {
  const { id, sources, engine, triggerMs } = record
  const { hub, log, observer, write } = deps
  let { warnings, positions, progress } = record
  let isFirst = record.progress === undefined
  // Spark cannot read on once the snapshot that it read last has expired
  const isSlow = engine === 'spark' || triggerMs >= RISKY_LAG_MS
  const update = async (changed: PipelineUpdate): Promise<void> => {
    await write(changed)
    await deps.publish()
  }
  const pin = async (mustHold: boolean, isIdle = false): Promise<void> =>
    deps.pins?.keep({ pipelineId: id, sources, positions: (positions ?? []).map(fromStoredPosition), mustHold, isIdle })
  return {
    onRunning: async (read, isCaughtUp) => {
      positions = toStoredPositions(sources, read)
      await update({ state: 'running', error: null, positions })
      if (isCaughtUp) await pin(isSlow)
    },
    onBatch: async (batch, read, skippedSnapshots) => {
      const isNew = skippedSnapshots > 0 && !warnings.includes(SKIPPED)
      if (isNew) warnings = [...warnings, SKIPPED]
      positions = toStoredPositions(sources, read)
      progress = batch
      await write({ positions, progress, ...(isNew ? { warnings } : {}) })
      hub.publish('progress', id, batch)
      observer?.onBatch(batch)
      if (isFirst || isNew) await deps.publish()
      isFirst = false
      await pin(isSlow || isRisky(batch))
    },
    onPublished: async () => {
      progress &&= onceOnMain(progress)
      if (progress !== undefined) await update({ progress })
    },
    onIdle: (batch) => hub.publish('progress', id, batch),
    onDegraded: async (error, cause, failures) => {
      observer?.onFailure()
      log.warn('pipeline retries after an error', { pipeline_id: id, error: cause })
      await update({ state: 'degraded', error: { ...error, failures } })
      if (failures >= FAILURES_BEFORE_PIN) await pin(true)
    },
    onFailed: async (error, cause) => {
      observer?.onFailure()
      log.error('pipeline failed', { pipeline_id: id, error: cause })
      await pin(canReadOn(error.code), true)
      await update({ state: 'failed', desiredState: 'stopped', error, stoppedAt: deps.now().toISOString() })
    },
    onQuery: (query) => write({ spark: query ?? null }),
    onWarning: async (text) => {
      if (warnings.includes(text)) return
      warnings = [...warnings, text]
      await update({ warnings })
    },
    onNotStopped: async (error, cause) => {
      log.warn('the query of a pipeline could not be stopped in Spark', { pipeline_id: id, error: cause })
      await update({ error })
      deps.onNotStopped()
    },
  }
}

/** Whether snapshots are unread for so long that another engine could expire them. */
function isRisky({ sources }: BatchProgress): boolean {
  return sources.some(({ lag }) => lag.files > 0 && lag.seconds * 1000 > RISKY_LAG_MS)
}
