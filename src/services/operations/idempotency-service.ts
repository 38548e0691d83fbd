import type { Claim, IdempotencyStore, StoredAnswer } from '../../storage/stores/idempotency-store.ts'
import { sha256Hex } from '../../lib/sha256.ts'
import type { Logger } from '../logger.ts'
import { IN_BACKGROUND, repeatWrite } from '../../storage/repeat-write.ts'

/** A request that carries an `Idempotency-Key`. */
export interface KeyedCall {
  readonly user: string
  readonly key: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Of this request alone. */
  readonly requestId: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** Gives a repeated request one effect (docs/api.md#retries): keys are per user and stored for 24 h. */
export interface IdempotencyService {
  /** Claims the key for this call, or returns the outcome of the earlier one. A claimed call must be ended, once. */
  begin(call: KeyedCall): Promise<Claim>
  /**
   * Stores the response for repetitions when repeating could not change it; releases the key when the call surely had no
   * effect; otherwise the audit log tells whether it had one.
   */
  end(call: KeyedCall, answer: StoredAnswer): Promise<void>
  /** Stores that the call had its effect, but not its response, which has a secret: a repetition is refused. */
  endUnrepeatable(call: KeyedCall): Promise<void>
  /** Ends the attempts to end calls. */
  close(): Promise<void>
}

/** Error statuses that the same request will always get. */
const DETERMINISTIC_REFUSALS: ReadonlySet<number> = new Set([400, 404, 422])

const SWEEP_INTERVAL_MS = 60 * 60 * 1000

interface IdempotencyDeps {
  readonly store: IdempotencyStore
  readonly now: () => Date
  readonly log: Logger
}

/** Idempotency over a store. */
export function createIdempotencyService({ store, now, log }: IdempotencyDeps): IdempotencyService {
  const closing = new AbortController()
  const later = new Set<Promise<void>>()
  const running = createCalls()
  let sweptAt = Number.NEGATIVE_INFINITY

  async function sweep(): Promise<void> {
    if (now().getTime() - sweptAt < SWEEP_INTERVAL_MS) return
    sweptAt = now().getTime()
    await store.deleteExpired(now())
  }

  /** Ends a call; when the database does not respond, in the background, so that the key does not stay in use. */
  async function finish(call: KeyedCall, write: () => Promise<void>): Promise<void> {
    try {
      await write()
      running.remove(call)
    } catch (error) {
      const written = repeatWrite(write, { patience: IN_BACKGROUND, signal: closing.signal })
        .catch((cause: unknown) =>
          log.error('an Idempotency-Key was not released', { request_id: call.requestId, error: cause }),
        )
        .finally(() => {
          running.remove(call)
          later.delete(written)
        })
      later.add(written)
      throw error
    }
  }

  return {
    async begin(call) {
      await sweep()
      running.add(call)
      try {
        const { body, ...request } = call
        const keyed = { ...request, bodySha256: sha256Hex(body) }
        const claim = await store.claim(keyed, now(), () => running.hasOther(call))
        if (claim.kind !== 'claimed') running.remove(call)
        return claim
      } catch (error) {
        // the claim may be stored all the same
        await finish(call, () => store.release(call)).catch(() => undefined)
        throw error
      }
    },
    end(call, answer) {
      const final = answer.status < 300 || DETERMINISTIC_REFUSALS.has(answer.status)
      if (final) return finish(call, () => store.complete(call, answer))
      const mayHaveEffect = answer.status >= 500
      return finish(call, () => (mayHaveEffect ? store.settle(call) : store.release(call)))
    },
    endUnrepeatable: (call) => finish(call, () => store.withhold(call)),
    async close() {
      closing.abort()
      await Promise.all(later)
    },
  }
}

/** The calls of this process that are not ended, by their keys. */
function createCalls() {
  const calls = new Map<string, Set<string>>()
  const nameOf = ({ user, key }: KeyedCall): string => JSON.stringify([user, key])
  return {
    /** Besides this one, which must have been added. */
    hasOther: (call: KeyedCall): boolean => (calls.get(nameOf(call))?.size ?? 0) > 1,
    add(call: KeyedCall): void {
      calls.set(nameOf(call), (calls.get(nameOf(call)) ?? new Set()).add(call.requestId))
    },
    remove(call: KeyedCall): void {
      const ids = calls.get(nameOf(call))
      ids?.delete(call.requestId)
      if (ids?.size === 0) calls.delete(nameOf(call))
    },
  }
}
