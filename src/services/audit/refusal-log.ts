import type { Caller } from '../../domain/roles.ts'
import { startLoop } from '../../lib/start-loop.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import { clientKey } from '../../domain/network/ip-address.ts'
import type { AuditEntry, AuditRecorder } from './audit-service.ts'
import type { Logger } from '../logger.ts'
import { createAnonymousRefusals } from './anonymous-refusals.ts'

/** A request that was answered with an error. */
export interface RefusedRequest {
  readonly caller: Caller | undefined
  /** Address of the client; undefined when the host does not know it. */
  readonly address: string | undefined
  readonly requestId: string
  readonly method: string
  /** Without the query, which may contain secrets. */
  readonly path: string
  readonly status: number
  readonly code: string | undefined
  /** The value that was thrown, if any. */
  readonly error: unknown
}

/** Records refusals. A refusal changes nothing, so there is no transaction to share. */
export interface RefusalLog {
  /**
   * Resolves when the entry is durable, or when the refusal is counted: refusals without a valid credential are
   * aggregated. Never rejects: a log that cannot be written is no reason to let a request through.
   */
  record(request: RefusedRequest): Promise<void>
  /** Writes the aggregated refusals that have no entry yet. */
  close(): Promise<void>
}

export interface RefusalLogDeps {
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly log: Logger
  readonly now: () => Date
}

const MAX_PATH_LENGTH = 500
const MAX_BATCH = 500
/** How often to check whether an hour has ended. */
const LOOK_MS = 60_000

/** A refusal log that writes all refusals that arrive together in one transaction, so that a flood needs few. */
export function createRefusalLog({ inTransaction, audit, log, now }: RefusalLogDeps): RefusalLog {
  const anonymous = createAnonymousRefusals(now)
  const waiting: AuditEntry[] = []
  let writing: Promise<void> = Promise.resolve()

  async function writeWaiting(): Promise<void> {
    const batch = waiting.splice(0, MAX_BATCH)
    if (batch.length === 0) return
    try {
      await inTransaction(async (tx) => {
        for (const entry of batch) await audit.record(tx, entry)
      })
    } catch (error) {
      log.error('refusals could not be recorded', { request_ids: batch.map(({ requestId }) => requestId), error })
    }
  }

  function write(entries: readonly AuditEntry[]): Promise<void> {
    if (entries.length === 0) return Promise.resolve()
    waiting.push(...entries)
    writing = writing.then(writeWaiting)
    return writing
  }

  const loop = startLoop({
    everyMs: LOOK_MS,
    firstMs: LOOK_MS,
    tick: () => write(anonymous.take()),
    onError: (error) => log.error('refusals could not be counted', { error }),
  })
  return {
    async record(request) {
      if (audit.isSettled(request.error)) return
      const entry = entryOf(request)
      if (request.caller !== undefined) return write([entry])
      const { status, code, path, address } = request
      const client = address === undefined ? undefined : clientKey(address)
      return write(anonymous.add({ client, status, code, path: path.slice(0, MAX_PATH_LENGTH), entry }))
    },
    async close() {
      await loop.stop()
      await write(anonymous.take({ all: true }))
      await writing
    },
  }
}

function entryOf({ caller, requestId, status, code, method, path }: RefusedRequest): AuditEntry {
  return {
    caller,
    requestId,
    action: status >= 500 ? 'request.fail' : 'request.refuse',
    objectType: 'request',
    objectId: path.slice(0, MAX_PATH_LENGTH),
    outcome: status >= 500 ? 'failed' : 'refused',
    details: { method, status, code: code ?? null },
  }
}
