import type { Claim, IdempotencyStore, StoredAnswer } from '../../storage/stores/idempotency-store.ts'
import { sha256Hex } from '../../storage/sha256.ts'

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
  /** Claims the key for this call, or returns the outcome of the earlier one. */
  begin(call: KeyedCall): Promise<Claim>
  /** Stores the response for repetitions when repeating could not change it; releases the key otherwise. */
  end(call: KeyedCall, answer: StoredAnswer): Promise<void>
  /** Stores that the call had its effect, but not its response, which has a secret: a repetition is refused. */
  endUnrepeatable(call: KeyedCall): Promise<void>
}

/** Error statuses that the same request will always get. */
const DETERMINISTIC_REFUSALS: ReadonlySet<number> = new Set([400, 404, 422])

const SWEEP_INTERVAL_MS = 60 * 60 * 1000

/** Idempotency over a store. */
export function createIdempotencyService(store: IdempotencyStore, now: () => Date): IdempotencyService {
  let sweptAt = Number.NEGATIVE_INFINITY
  const sweep = async (): Promise<void> => {
    if (now().getTime() - sweptAt < SWEEP_INTERVAL_MS) return
    sweptAt = now().getTime()
    await store.deleteExpired(now())
  }
  return {
    async begin({ body, ...call }) {
      await sweep()
      return store.claim({ ...call, bodySha256: sha256Hex(body) }, now())
    },
    async end({ user, key }, answer) {
      const final = answer.status < 300 || DETERMINISTIC_REFUSALS.has(answer.status)
      if (final) await store.complete(user, key, answer)
      else await store.release(user, key)
    },
    endUnrepeatable: ({ user, key }) => store.withhold(user, key),
  }
}
