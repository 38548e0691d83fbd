import type { Claim, IdempotencyStore, StoredAnswer } from '../../storage/stores/idempotency-store.ts'
import { sha256Hex } from '../../storage/sha256.ts'
import type { Logger } from '../logger.ts'
import { IN_BACKGROUND, repeatWrite } from '../../storage/repeat-write.ts'

/** A request that carries an `Idempotency-Key`. */
export interface KeyedCall {
  readonly user: string
  readonly key: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly requestId: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** Gives a repeated request one effect (docs/api.md#retries): keys are per user and stored for 24 h. */
export interface IdempotencyService {
  /** Claims the key for this call, or returns the outcome of the earlier one. A claimed call must be ended. */
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
  const running = createKeyCounts()
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
    async begin({ body, ...call }) {
      await sweep()
      running.add(call)
      try {
        const claim = await store.claim({ ...call, bodySha256: sha256Hex(body) }, now(), () => running.count(call) > 1)
        if (claim.kind !== 'claimed') running.remove(call)
        return claim
      } catch (error) {
        // the claim may be stored all the same
        await finish({ ...call, body }, () => store.release(call)).catch(() => undefined)
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

type KeyName = Pick<KeyedCall, 'user' | 'key'>

/** Counts the calls of this process by their keys. */
function createKeyCounts() {
  const counts = new Map<string, number>()
  const nameOf = ({ user, key }: KeyName): string => JSON.stringify([user, key])
  const change = (call: KeyName, by: number): void => {
    const count = (counts.get(nameOf(call)) ?? 0) + by
    if (count === 0) counts.delete(nameOf(call))
    else counts.set(nameOf(call), count)
  }
  return {
    count: (call: KeyName): number => counts.get(nameOf(call)) ?? 0,
    add: (call: KeyName): void => change(call, 1),
    remove: (call: KeyName): void => change(call, -1),
  }
}
