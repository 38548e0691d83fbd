import { isPolicyUser } from '../../../domain/policies/policy.ts'
import { isOperationKind, operationEntry } from '../../../domain/tables/operations.ts'
import { addFigures } from './add-figures.ts'
import type { SavingsFigures, SavingsRow } from '../../../schemas/tables/savings.ts'
import type { StoredFigures, StoredReceipt } from '../../../storage/stores/operations/operation-record.ts'
import type {
  EndedOperation,
  QuarantineOutcome,
  StoredRollback,
} from '../../../storage/stores/operations/savings-store.ts'
import { hasReceipt, replacedFiles, requestsOf } from '../receipt.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends object ? Mutable<T[K]> : T[K] }
type Sums = Mutable<SavingsFigures>

/** What happened to operations after they had ended. */
export interface Aftermath {
  /** Whether a rollback took back the commit, or a restore the deleted files. */
  isUndone(operation: EndedOperation): boolean
  /** Bytes in quarantine of the files that the operation deleted. */
  bytesHeld(operation: EndedOperation): number
}

/** Reads rollbacks and quarantine as what became of earlier operations. Pure. */
export function aftermathOf(
  rollbacks: readonly StoredRollback[],
  quarantined: readonly QuarantineOutcome[],
): Aftermath {
  const undone = new Set(rollbacks.flatMap((one) => undoneIds(one).map((id) => `${one.table} ${id}`)))
  const outcomes = new Map(quarantined.map((one) => [one.operationId, one]))
  return {
    isUndone: (operation) =>
      outcomes.get(operation.id)?.state === 'restored' ||
      (hasCommitted(operation) && undone.has(`${operation.table} ${operation.snapshotId}`)),
    bytesHeld({ id }) {
      const outcome = outcomes.get(id)
      return outcome === undefined || outcome.state === 'purged' || outcome.state === 'restored' ? 0 : outcome.bytes
    },
  }
}

/** Whether the operation committed a snapshot; an expiry has the one that was current, which a rollback takes back without it. */
function hasCommitted({ kind, snapshotId, baseSnapshotId }: EndedOperation): boolean {
  const commits = isOperationKind(kind) && operationEntry(kind).changesScans === true
  return commits && snapshotId !== undefined && snapshotId !== baseSnapshotId
}

/** The snapshots that a rollback undid; of rollbacks without a list, only the newest is known. */
function undoneIds({ baseSnapshotId, result }: StoredRollback): readonly string[] {
  const listed =
    typeof result === 'object' && result !== null && 'undone_snapshot_ids' in result
      ? result['undone_snapshot_ids']
      : undefined
  if (Array.isArray(listed)) return listed.filter((id) => typeof id === 'string')
  return baseSnapshotId === undefined ? [] : [baseSnapshotId]
}

/** Sums of nothing. */
export function emptyFigures(): Sums {
  return {
    operations: 0,
    failed: 0,
    undone: 0,
    unmeasured: 0,
    duration_ms: 0,
    bytes_rewritten: 0,
    files_before: 0,
    files_after: 0,
    bytes_before: 0,
    bytes_after: 0,
    manifests_removed: 0,
    files_deleted: 0,
    storage_freed_bytes: 0,
    quarantined_bytes: 0,
    storage_added_bytes: 0,
    scan_requests_saved: 0,
    planning_saved_ms: 0,
    planned: {
      operations: 0,
      files_removed: { estimated: 0, measured: 0 },
      storage_freed_bytes: { estimated: 0, measured: 0 },
    },
  }
}

/** Adds operations one by one; each counts in exactly one row. */
export class SavingsSums {
  readonly #rows = new Map<string, Mutable<SavingsRow>>()
  readonly #aftermath: Aftermath

  constructor(aftermath: Aftermath) {
    this.#aftermath = aftermath
  }

  add(operation: EndedOperation): void {
    const row = this.#rowOf(operation)
    row.duration_ms += operation.durationMs
    if (operation.state !== 'succeeded') {
      row.failed += 1
      return
    }
    row.operations += 1
    const isUndone = this.#aftermath.isUndone(operation)
    if (isUndone) row.undone += 1
    if (!isMeasured(operation)) row.unmeasured += 1
    const { receipt } = operation
    if (receipt === undefined) return
    addCost(row, receipt.measured)
    if (isUndone) return
    addGain(row, operation, receipt)
    if (receipt.projected !== null) addPlanned(row, receipt.projected, receipt.measured)
    row.quarantined_bytes += Math.min(this.#aftermath.bytesHeld(operation), freedBytes(receipt.measured))
  }

  /** The rows, oldest first, and by kind within a day. */
  rows(): SavingsRow[] {
    const key = ({ date, operation, by }: SavingsRow): string => `${date} ${operation} ${by}`
    return [...this.#rows.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1))
  }

  #rowOf({ createdAt, kind, requestedBy }: EndedOperation): Mutable<SavingsRow> {
    const date = createdAt.slice(0, 10)
    const by = isPolicyUser(requestedBy) ? 'policy' : 'person'
    const key = `${date} ${kind} ${by}`
    const row = this.#rows.get(key) ?? { date, operation: kind, by, ...emptyFigures() }
    this.#rows.set(key, row)
    return row
  }
}

/** The sum of some rows. Pure. */
export function sumOf(rows: readonly SavingsRow[]): SavingsFigures {
  return rows.reduce<SavingsFigures>(addFigures, emptyFigures())
}

/** Whether everything that the kind of the operation gains is known. */
function isMeasured({ kind, receipt, result }: EndedOperation): boolean {
  if (!isOperationKind(kind) || !hasReceipt(kind)) return true
  if (receipt === undefined) return false
  if (operationEntry(kind).changesScans === true && receipt.scan === null) return false
  if (receipt.measured.files_removed === null) return false
  if (kind === 'rewrite_manifests') return true
  return receipt.measured.storage_freed_bytes !== null && result !== undefined
}

function freedBytes(measured: StoredFigures): number {
  return Math.max(0, measured.storage_freed_bytes ?? 0)
}

/** What an operation cost stays, whatever happens to its commit later. */
function addCost(row: Sums, { bytes_rewritten: rewritten, storage_freed_bytes: freed }: StoredFigures): void {
  row.bytes_rewritten += rewritten ?? 0
  row.storage_added_bytes += Math.max(0, -(freed ?? 0))
}

function addGain(row: Sums, { kind, result }: EndedOperation, { measured, scan }: StoredReceipt): void {
  const replaced = isOperationKind(kind) ? replacedFiles(kind, result) : undefined
  if (replaced !== undefined) {
    const { bytes_rewritten: before, bytes_freed: freed } = measured
    row.files_before += replaced.before
    row.files_after += replaced.after
    if (before !== null && freed !== null) {
      row.bytes_before += before
      row.bytes_after += before - freed
    }
  } else if (kind === 'rewrite_manifests') {
    row.manifests_removed += measured.manifests_removed ?? 0
  } else {
    row.files_deleted += filesOf(measured) + (measured.manifests_removed ?? 0)
    row.storage_freed_bytes += freedBytes(measured)
  }
  if (scan === null) return
  row.scan_requests_saved += requestsOf(scan.before) - requestsOf(scan.after)
  row.planning_saved_ms += scan.before.planningMs - scan.after.planningMs
}

function filesOf({ files_removed: files, delete_files_removed: deletes }: StoredFigures): number {
  return (files ?? 0) + (deletes ?? 0)
}

function addPlanned({ planned }: Sums, estimated: StoredFigures, measured: StoredFigures): void {
  planned.operations += 1
  planned.files_removed.estimated += filesOf(estimated)
  planned.files_removed.measured += filesOf(measured)
  if (estimated.storage_freed_bytes === null || measured.storage_freed_bytes === null) return
  planned.storage_freed_bytes.estimated += estimated.storage_freed_bytes
  planned.storage_freed_bytes.measured += measured.storage_freed_bytes
}
