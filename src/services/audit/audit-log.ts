import { ChainFollower, type ChainHead, EMPTY_CHAIN, headMac } from '../../storage/audit-chain.ts'
import { type AuditFilter, type AuditStore, createAuditStore } from '../../storage/stores/audit-store.ts'
import { fromRequiredColumn } from '../../storage/json-column.ts'
import type { AuditEventsTable, AuditHeadTable } from '../../storage/schema.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import { exportAudit, type ExportRange } from './export-audit.ts'
import { keyPage, type ListPage, type PageQuery, toListPage } from '../paging/paging.ts'

/** A signed record of the head of the log at some time, kept outside the database. */
export interface AuditCheckpoint extends ChainHead {
  /** RFC 3339. */
  readonly at: string
  readonly mac: string
}

/** Where the last checkpoint is stored. */
export interface CheckpointFile {
  /** Undefined when there is none. */
  read(): Promise<AuditCheckpoint | undefined>
  write(checkpoint: AuditCheckpoint): Promise<void>
}

/** The outcome of a verification. */
export interface AuditVerification {
  readonly ok: boolean
  /** The number of entries that are unchanged. */
  readonly checked: number
  /** Number of the first entry that is missing or changed. */
  readonly first_bad?: number
  readonly reason?: string
  /** The end of the log, for callers that want to compare it later. */
  readonly head: ChainHead
}

/** Reads and verifies the audit log (docs/api.md#audit-log). */
export interface AuditLog {
  /** Newest first. */
  list(filter: AuditFilter, page: PageQuery): Promise<ListPage<AuditEntryView>>
  /** All entries that are there now, oldest first, as JSON lines with their hashes (docs/api.md#audit-log). */
  export(range: ExportRange, isAllowed: () => Promise<boolean>): ReadableStream<Uint8Array>
  /** Checks the whole log; detects changed, removed, added and moved entries, and a truncated end. */
  verify(): Promise<AuditVerification>
  /** Signs the current end of the log and stores the signature outside the database. */
  checkpoint(): Promise<void>
}

/** An entry as the API returns it. */
export type AuditEntryView = ReturnType<typeof toView>

export interface AuditLogDeps {
  readonly store: AuditStore
  readonly inTransaction: InTransaction
  readonly key: Uint8Array
  readonly checkpoints: CheckpointFile
  readonly now: () => Date
}

const ROWS_AT_ONCE = 2000

/** The audit log of the state database. */
export function createAuditLog(deps: AuditLogDeps): AuditLog {
  return {
    async list(filter, query) {
      const { limit, after } = keyPage('audit', query)
      const rows = await deps.store.list(filter, { limit, ...(after !== undefined && { beforeSeq: Number(after) }) })
      return toListPage(rows, limit, { key: ({ seq }) => seq, view: toView })
    },
    export: (range, isAllowed) => exportAudit(deps.store, range, isAllowed),
    verify: () => verify(deps),
    async checkpoint() {
      const head = await deps.store.head()
      if (head && isSigned(deps.key, head)) await deps.checkpoints.write(signed(deps, head))
    },
  }
}

async function verify(deps: AuditLogDeps): Promise<AuditVerification> {
  const checkpoint = await deps.checkpoints.read()
  const follower = new ChainFollower()
  const walk = new Walk(deps.key, follower, checkpoint)
  for (;;) {
    const rows = await deps.store.after(walk.seen, ROWS_AT_ONCE)
    if (rows.length === 0 || !walk.follow(rows)) break
  }
  // Checks the entries added meanwhile, and the recorded end of the log, while no other process can write.
  if (walk.problem === undefined) {
    await deps.inTransaction(async (tx) => {
      const store = createAuditStore(tx, deps.key)
      if (walk.follow(await store.after(walk.seen, Number.MAX_SAFE_INTEGER))) walk.finish(await store.head())
    })
  }
  const { head, problem } = walk
  if (problem === undefined) await deps.checkpoints.write(signed(deps, head))
  return { ok: problem === undefined, checked: head.seq, ...problem, head }
}

interface ChainProblem {
  readonly first_bad: number
  readonly reason: string
}

/** One verification: the rows read so far, and the first problem found. */
class Walk {
  readonly #key: Uint8Array
  readonly #follower: ChainFollower
  readonly #checkpoint: AuditCheckpoint | undefined
  /** Highest number that was checked; starts below every possible number. */
  seen = Number.MIN_SAFE_INTEGER
  problem: ChainProblem | undefined

  constructor(key: Uint8Array, follower: ChainFollower, checkpoint: AuditCheckpoint | undefined) {
    this.#key = key
    this.#follower = follower
    this.#checkpoint = checkpoint
    if (checkpoint && checkpoint.mac !== checkpointMac(key, checkpoint)) {
      this.problem = {
        first_bad: checkpoint.seq,
        reason: 'the checkpoint beside the database is not signed by its key',
      }
    }
  }

  get head(): ChainHead {
    return this.#follower.head
  }

  /** Returns false when a row is not the expected next one, or was changed. */
  follow(rows: readonly AuditEventsTable[]): boolean {
    for (const row of rows) {
      if (this.problem !== undefined) return false
      if (!this.#follower.accept(row)) this.#bad(this.head.seq + 1, 'the entry is missing, moved or changed')
      else if (row.seq === this.#checkpoint?.seq && row.hash !== this.#checkpoint.hash) {
        this.#bad(row.seq, 'the entry is not the one of the last checkpoint')
      }
      this.seen = row.seq
    }
    return this.problem === undefined
  }

  /** Compares the last row with the stored head and the last checkpoint. */
  finish(stored: AuditHeadTable | undefined): void {
    const { seq, hash } = this.head
    const claimed = stored ?? { ...EMPTY_CHAIN, mac: '' }
    if (stored && !isSigned(this.#key, stored))
      this.#bad(Math.max(1, seq), 'the end of the log is not signed by its key')
    else if (claimed.seq > seq) this.#bad(seq + 1, `the log ends here, but it had ${claimed.seq} entries`)
    else if (claimed.seq < seq) this.#bad(claimed.seq + 1, 'the entry was not written by the service')
    else if (claimed.hash !== hash) this.#bad(Math.max(1, seq), 'the last entry is not the one that was written')
    else if (this.#checkpoint && this.#checkpoint.seq > seq) {
      this.#bad(seq + 1, `the log ends here, but the last checkpoint saw ${this.#checkpoint.seq} entries`)
    }
  }

  #bad(firstBad: number, reason: string): void {
    this.problem = { first_bad: firstBad, reason }
  }
}

function isSigned(key: Uint8Array, head: AuditHeadTable): boolean {
  return head.mac === headMac(key, head)
}

function signed({ key, now }: AuditLogDeps, { seq, hash }: ChainHead): AuditCheckpoint {
  const checkpoint = { seq, hash, at: now().toISOString() }
  return { ...checkpoint, mac: checkpointMac(key, checkpoint) }
}

function checkpointMac(key: Uint8Array, { seq, hash, at }: ChainHead & { readonly at: string }): string {
  return headMac(key, { seq, hash: `${hash}:${at}` })
}

function toView(row: AuditEventsTable) {
  return {
    id: `evt-${row.seq}`,
    seq: row.seq,
    at: row.at,
    actor: row.actor,
    role: row.role,
    channel: row.channel,
    action: row.action,
    object_type: row.object_type,
    object_id: row.object_id,
    outcome: row.outcome,
    request_id: row.request_id,
    details: fromRequiredColumn<Readonly<Record<string, unknown>>>(row.details_json),
    hash: row.hash,
  }
}
