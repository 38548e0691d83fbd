import { formatIdentifier } from '../../../catalog/table-identifier.ts'
import { stringifyJson } from '../../../iceberg/json/lossless-json.ts'
import { describeFiles, type HeldFile, moveAway } from '../../../maintenance/quarantine/held-files.ts'
import {
  deleteNow,
  type HoldReport,
  type HoldRequest,
  type Quarantine,
} from '../../../maintenance/quarantine/quarantine.ts'
import { historyToJson } from '../../../maintenance/quarantine/removed-history.ts'
import type { QuarantineEntriesTable } from '../../../storage/automation-schema.ts'
import type { QuarantinedFile, QuarantineStore } from '../../../storage/stores/operations/quarantine-store.ts'
import type { QuarantineDeps } from './quarantine-deps.ts'

/** The operation that takes files away. */
export interface HoldingOperation {
  readonly id: string
  readonly user: string
}

const DAY_MS = 86_400_000

/** The quarantine as one operation sees it: all that it removes is one entry. */
export function quarantineOf(deps: QuarantineDeps, operation: HoldingOperation): Quarantine {
  return {
    hold: (request) => hold(deps, operation, request),
    waitingIn: async ({ metadata }) => new Set(await deps.store.waiting(metadata.tableUuid)),
  }
}

/** Files are recorded before the first one is moved, so that a crash loses none: each is at one of two known locations. */
async function hold(deps: QuarantineDeps, operation: HoldingOperation, request: HoldRequest): Promise<HoldReport> {
  const { table, files, history, confirm } = request
  if (deps.days === 0) return deleteNow(request)
  if (files.length === 0 && history === undefined) return { removed: [], failures: [], bytes: 0, entry: undefined }
  const entry = await openEntry(deps, operation, request)
  const described = await describeFiles(table.io, files, entry.id)
  await deps.store.addFiles(entry.id, described.map(toRow))
  const held = await heldFiles(deps.store, entry.id)
  await confirm?.()
  const failures = await moveAway(table.io, held)
  const stay = new Set(failures.map(({ location }) => location))
  const bytes = held.reduce((total, file) => total + (stay.has(file.location) ? 0 : file.sizeBytes), 0)
  return {
    removed: files.filter((location) => !stay.has(location)),
    failures,
    bytes,
    entry: { id: entry.id, until: entry.held_until, files_count: held.length, bytes },
  }
}

/** The files of an entry. */
export async function heldFiles(store: QuarantineStore, id: string): Promise<readonly HeldFile[]> {
  const rows = await store.files(id)
  return rows.map(({ location, held_at, size_bytes, modified_at_ms }) => ({
    location,
    heldAt: held_at ?? undefined,
    sizeBytes: size_bytes,
    modifiedAtMs: modified_at_ms,
  }))
}

function toRow({ location, heldAt, sizeBytes, modifiedAtMs }: HeldFile): QuarantinedFile {
  return { location, held_at: heldAt ?? null, size_bytes: sizeBytes, modified_at_ms: modifiedAtMs }
}

async function openEntry(
  { store, newId, now, days }: QuarantineDeps,
  operation: HoldingOperation,
  { table, reason, history }: HoldRequest,
): Promise<QuarantineEntriesTable> {
  const begun = await store.findByOperation(operation.id)
  if (begun !== undefined) return begun
  const at = now()
  const entry: QuarantineEntriesTable = {
    id: newId('qua'),
    operation_id: operation.id,
    requested_by: operation.user,
    reason,
    table_name: formatIdentifier(table.identifier),
    table_uuid: table.metadata.tableUuid,
    history_json: history === undefined ? null : stringifyJson(historyToJson(history)),
    snapshot_count: history?.snapshots.length ?? 0,
    file_count: 0,
    byte_count: 0,
    state: 'held',
    held_until: new Date(at.getTime() + days * DAY_MS).toISOString(),
    problem: null,
    created_at: at.toISOString(),
    settled_at: null,
  }
  await store.insert(entry)
  return entry
}
