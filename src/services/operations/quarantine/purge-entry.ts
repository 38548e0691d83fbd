import { parseIdentifier } from '../../../catalog/table-identifier.ts'
import type { RequestContext } from '../../../domain/audit.ts'
import { DomainError } from '../../../domain/errors.ts'
import { withoutPaths } from '../../../domain/without-paths.ts'
import { purgeFiles } from '../../../maintenance/quarantine/purge.ts'
import type { QuarantinePurged } from '../../../schemas/tables/quarantine.ts'
import type { QuarantineEntriesTable } from '../../../storage/automation-schema.ts'
import { createQuarantineStore, type QuarantineState } from '../../../storage/stores/operations/quarantine-store.ts'
import type { TableHold } from '../../tables/table-lock.ts'
import { heldFiles } from './hold.ts'
import type { QuarantineDeps } from './quarantine-deps.ts'

const MAX_LISTED = 1000
/** How long after its time an unfinished restore may still be continued. */
const LATE_MS = 86_400_000
/** How long a purge waits for an operation on the same table. */
const REQUEST_WAIT_MS = 20_000
const DUE_WAIT_MS = 1000

/** Deletes the files of an entry for good. Throws `CONFLICT` while an operation works on the table. */
export function purgeOnRequest(
  deps: QuarantineDeps,
  entry: QuarantineEntriesTable,
  context: RequestContext,
): Promise<QuarantinePurged> {
  return withTable(deps, { table: entry.table_name, waitMs: REQUEST_WAIT_MS }, async (hold) => {
    await claim(deps, entry, ['held', 'purging'])
    return purge(deps, entry, { context, hold })
  })
}

/**
 * Deletes the files of all entries whose time has passed. Entries of a table on which an operation works stay until the
 * next call: the operation may be the restore of such an entry.
 */
export async function purgeDue(deps: QuarantineDeps): Promise<void> {
  const { store, now, log } = deps
  for (const entry of await store.due(...limits(now()))) {
    const { id, table_name: table } = entry
    try {
      await withTable(deps, { table, waitMs: DUE_WAIT_MS }, async (hold) => {
        const due = await store.due(...limits(now()))
        if (!due.some((one) => one.id === id && one.state === entry.state)) return
        await claim(deps, entry, [entry.state])
        await purge(deps, entry, { context: undefined, hold })
      })
    } catch (error) {
      log.warn('files in quarantine not deleted', { quarantine_id: id, table, error })
    }
  }
}

/** A `CONFLICT` for an entry that is in another state than an action needs. */
export function notHeld({ id, state }: Pick<QuarantineEntriesTable, 'id' | 'state'>): DomainError {
  return new DomainError('CONFLICT', `quarantine entry ${id} is ${state}`)
}

function limits(at: Date): readonly [now: string, late: string] {
  return [at.toISOString(), new Date(at.getTime() - LATE_MS).toISOString()]
}

async function claim(
  { store }: QuarantineDeps,
  entry: QuarantineEntriesTable,
  from: readonly QuarantineState[],
): Promise<void> {
  if (await store.claim(entry.id, from, 'purging')) return
  throw notHeld((await store.find(entry.id)) ?? entry)
}

/** Runs work when no operation works on the table. */
async function withTable<T>(
  { lock }: QuarantineDeps,
  { table, waitMs }: { readonly table: string; readonly waitMs: number },
  work: (hold: TableHold) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(waitMs)
  let hasBegun = false
  try {
    return await lock.run(table, { signal, abort: () => undefined }, (hold) => {
      hasBegun = true
      return work(hold)
    })
  } catch (error) {
    if (hasBegun || !signal.aborted) throw error
    const message = `an operation works on ${table}: delete its files in quarantine when the operation has ended`
    throw new DomainError('CONFLICT', message)
  }
}

interface ClaimedBy {
  readonly context: RequestContext | undefined
  readonly hold: TableHold
}

/** Deletes the files of a claimed entry; after an error the entry is held again, with the reason. */
async function purge(
  deps: QuarantineDeps,
  entry: QuarantineEntriesTable,
  { context, hold }: ClaimedBy,
): Promise<QuarantinePurged> {
  const { catalog, release } = deps.catalog.hold()
  try {
    const { table_uuid: tableUuid } = entry
    const files = await heldFiles(deps.store, entry.id)
    const identifier = parseIdentifier(entry.table_name)
    const report = await purgeFiles({ catalog, identifier, tableUuid, files, confirm: () => hold.confirm() })
    const { deletedFiles, freedBytes, keptFiles, failures } = report
    const [first] = failures
    if (first !== undefined) await deps.store.release(entry.id, `${failures.length} files: ${first.reason}`)
    else await settlePurged(deps, entry, { context, details: { files: deletedFiles, bytes: freedBytes } })
    return {
      success: true,
      quarantine_id: entry.id,
      deleted_files_count: deletedFiles,
      freed_bytes: freedBytes,
      kept_files_count: keptFiles,
      failed_deletions_count: failures.length,
      failed_deletions: failures.slice(0, MAX_LISTED),
    }
  } catch (error) {
    await deps.store.release(entry.id, withoutPaths(error instanceof Error ? error.message : String(error)))
    throw error
  } finally {
    release()
  }
}

interface Purge {
  readonly context: RequestContext | undefined
  readonly details: { readonly files: number; readonly bytes: number }
}

async function settlePurged(
  { inTransaction, audit, now }: QuarantineDeps,
  { id, table_name: table }: QuarantineEntriesTable,
  { context, details }: Purge,
): Promise<void> {
  await inTransaction(async (tx) => {
    if (!(await createQuarantineStore(tx).settle(id, 'purged', now().toISOString()))) return
    await audit.record(tx, {
      ...(context ?? { caller: undefined, channel: 'system' }),
      action: 'quarantine.purge',
      objectType: 'quarantine',
      objectId: id,
      details: { table, ...details },
    })
  })
}
