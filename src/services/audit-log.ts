import { ChainFollower, type ChainHead, EMPTY_CHAIN, headMac } from '../storage/audit-chain.ts'
import { type AuditFilter, type AuditStore, createAuditStore } from '../storage/audit-store.ts'
import { fromRequiredColumn } from '../storage/json-column.ts'
import type { AuditEventsTable, AuditHeadTable } from '../storage/schema.ts'
import type { InTransaction } from '../storage/transactions.ts'
import { type ListPage, pageLimit, type PageQuery, refusePageToken } from './paging.ts'

/** A head of the log that was seen at some time, signed; it is kept outside the database. */
export interface AuditCheckpoint extends ChainHead {
  /** RFC 3339. */
  readonly at: string
  readonly mac: string
}

/** Where the last checkpoint is kept. */
export interface CheckpointFile {
  /** Undefined: there is none. */
  read(): Promise<AuditCheckpoint | undefined>
  write(checkpoint: AuditCheckpoint): Promise<void>
}

/** The outcome of a verification. */
export interface AuditVerification {
  readonly ok: boolean
  /** How many entries are as they were written. */
  readonly checked: number
  /** Number of the first entry that is not there as it was written. */
  readonly first_bad?: number
  readonly reason?: string
  /** The end of the log, to be kept by who wants to hold the service to it. */
  readonly head: ChainHead
}

/** Reads and verifies the audit log (contract, section 3). */
export interface AuditLog {
  /** Newest first. */
  list(filter: AuditFilter, page: PageQuery): Promise<ListPage<AuditEntryView>>
  /** Walks the whole log; finds any entry changed, removed, added, moved, and an end cut off. */
  verify(): Promise<AuditVerification>
  /** Signs where the log ends now, and keeps that outside the database. */
  checkpoint(): Promise<void>
}

/** An entry as the interface shows it. */
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
      const limit = pageLimit(query)
      const before = query.page_token === undefined ? undefined : parsePageToken(query.page_token)
      const rows = await deps.store.list(filter, { limit, ...(before === undefined ? {} : { beforeSeq: before }) })
      const items = rows.slice(0, limit)
      const last = rows.length > limit ? items.at(-1) : undefined
      return { items: items.map(toView), next_page_token: last ? String(last.seq) : null }
    },
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
  // What was added meanwhile, and whether the log ends where it says, with writers kept out.
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

/** One verification: the rows so far, and what was found wrong. */
class Walk {
  readonly #key: Uint8Array
  readonly #follower: ChainFollower
  readonly #checkpoint: AuditCheckpoint | undefined
  /** Highest number that was looked at; below all that could be there at first. */
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

  /** False when a row is not the next one, unchanged. */
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

  /** Compares the end of the rows with the stored head and the last checkpoint. */
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

function parsePageToken(token: string): number {
  return /^[1-9]\d{0,15}$/.test(token) ? Number(token) : refusePageToken()
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
