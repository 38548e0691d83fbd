import type { Engine } from '../../engines/engine.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { OperationTarget } from '../../maintenance/operation-commit.ts'
import type { CompactionProgress } from '../../maintenance/compaction/progress.ts'
import type { OperationHooks } from '../../maintenance/operation-hooks.ts'
import type { Quarantine } from '../../maintenance/quarantine/quarantine.ts'
import type { EngineChoice, RequestedEngine } from '../../maintenance/spark/choose-engine.ts'
import type { SparkEngine } from '../../maintenance/spark/spark-engine.ts'
import type { TotalsSource } from '../../maintenance/inspection/totals/totals-source.ts'
import type { TableGuard } from '../../maintenance/table-guard.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { QuarantineService } from './quarantine/quarantine-service.ts'
import type { OperationHandle } from './operation-service.ts'

/** Options of an action under their wire names, without `table`, `dry_run`, `plan_id` and `engine`. */
export type MaintenanceOptions = Readonly<Record<string, StoredJson | undefined>>

export interface ActionInput extends OperationTarget {
  /** The embedded engine. */
  readonly engine: Engine
  readonly engines: EngineSettings
  /** What plans need of manifests. */
  readonly totals: TotalsSource
  readonly requestedEngine: RequestedEngine
  /** The engine of the plan that is applied. */
  readonly plannedEngine?: EngineChoice | undefined
  readonly request: MaintenanceOptions
  /** The time from which ages are measured; when a plan is applied, the time of the plan. */
  readonly nowMs: number
  /** Finds who depends on a table. */
  readonly guard?: TableGuard
  readonly quarantine: QuarantineService
  /** Who requested it. */
  readonly user: string
}

/** The engines besides the embedded one, and when `auto` takes them. */
export interface EngineSettings {
  /** Undefined: no Spark server is configured. */
  readonly spark: SparkEngine | undefined
  /** More than this is for Spark. */
  readonly embeddedMaxBytes: number
}

/** Outcome of an action, in the column names of Iceberg's procedures. */
export interface ActionOutcome {
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
  readonly rewritten_bytes_count?: number
  /** Of an operation that reads files which stay. */
  readonly read_bytes_count?: number
  readonly added_bytes_count?: number
  /** Which engine did it, or would; absent where there is no choice. */
  readonly engine?: EngineChoice['engine']
  readonly engine_reason?: string
}

/** A kind of maintenance. */
export interface Action {
  /** What the action would do; changes nothing. */
  preview(input: ActionInput): Promise<ActionOutcome>
  run(input: ActionInput, handle: ActionHandle): Promise<ActionOutcome>
}

/** The handle of a running action. */
export interface ActionHandle extends OperationHandle {
  /** Called after each commit with the updated table. */
  readonly onCommitted: (table: Table) => void
}

/** Records in the ledger what recovery after a crash needs. */
export function ledgerHooks(handle: ActionHandle): OperationHooks {
  return {
    onCleanup: (cleanup) => handle.record({ cleanup }),
    onStaged: async (staged) => {
      await handle.record({ staged })
      await handle.confirm()
    },
    confirm: () => handle.confirm(),
    onCommitted: handle.onCommitted,
  }
}

/** Reports how far a rewrite of deletes is. */
export function reportProgress(handle: ActionHandle): (progress: DoneFiles) => void {
  return ({ filesDone, filesTotal, bytesDone, bytesTotal }) =>
    handle.progress({
      files_done: filesDone,
      files_total: filesTotal,
      bytes_done: bytesDone,
      bytes_total: bytesTotal,
    })
}

type DoneFiles = Pick<CompactionProgress, 'filesDone' | 'filesTotal' | 'bytesDone' | 'bytesTotal'>

/** Where an action puts the files that it removes. */
export function quarantineIn({ quarantine, user }: ActionInput, id: string): Quarantine {
  return quarantine.of({ id, user })
}
