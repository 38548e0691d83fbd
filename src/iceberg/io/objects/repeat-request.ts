import { backOffMs } from '../../../lib/back-off.ts'
import { sleep } from '../../../lib/sleep.ts'
import { IcebergError, isIcebergError } from '../../errors.ts'
import type { IoAttempt } from '../io-error.ts'
import type { ObjectStore } from './object-store.ts'

const ATTEMPTS = 4
const PAUSES = { firstMs: 100, maxMs: 1000 }

/** Sends a request that may take effect twice, and repeats it while that may help. */
export async function repeated<T>(store: ObjectStore, what: IoAttempt, send: () => Promise<T>): Promise<T> {
  for (let sent = 1; ; sent += 1) {
    const replace = await store.authorize()
    try {
      return await send()
    } catch (error) {
      if (!(await mayRepeat(store, error, { sent, replace }))) throw store.toError(error, what)
    }
  }
}

/** A request that must take effect once, and how to recognize its effect. */
export interface ExclusiveRequest {
  readonly location: string
  readonly send: () => Promise<unknown>
  /** True if the existing object is what the request writes. */
  readonly isOurs: () => Promise<boolean>
}

/**
 * Sends a request that must take effect once, repeating it while the outcome is unknown. Proxies repeat requests too, so that
 * the first answer already may be that of a second request. `FILE_EXISTS` if another object has the name.
 */
export async function exclusively(store: ObjectStore, { location, send, isOurs }: ExclusiveRequest): Promise<void> {
  for (let sent = 1; ; sent += 1) {
    const replace = await store.authorize()
    try {
      await send()
      return
    } catch (error) {
      if (store.isTaken(error) && (await isStored(location, isOurs, error))) return
      if (!(await mayRepeat(store, error, { sent, replace }))) throw store.toError(error, { action: 'write', location })
    }
  }
}

/** Waits, or has refused credentials replaced, before a request is sent again. */
async function mayRepeat(
  store: ObjectStore,
  error: unknown,
  { sent, replace }: { readonly sent: number; readonly replace: () => Promise<boolean> },
): Promise<boolean> {
  if (sent === ATTEMPTS) return false
  if (store.mayNeedCredentials(error)) return replace()
  if (!store.isTransient(error)) return false
  await sleep(backOffMs(PAUSES, sent))
  return true
}

async function isStored(location: string, isOurs: () => Promise<boolean>, cause: unknown): Promise<boolean> {
  try {
    return await isOurs()
  } catch (error) {
    if (!isIcebergError(error, 'FILE_NOT_FOUND')) throw error
    const reason = 'the object store says that it exists, and does not find it'
    throw new IcebergError('IO_FAILED', `Could not write ${location}: ${reason}.`, { cause })
  }
}
