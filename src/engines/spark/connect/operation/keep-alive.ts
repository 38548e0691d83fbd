import { call } from '../line/call.ts'
import type { SessionContext } from '../line/session-context.ts'
import { SparkError } from '../spark-error.ts'

/** The watch over one stream of answers. */
export interface KeepAlive {
  /** Aborts when the line is dead, or when the caller gives up. */
  readonly signal: AbortSignal
  /** Throws when the session was lost meanwhile. */
  throwIfLost(): void
  end(): void
}

/**
 * Sends a short call every `keepAliveMs` while a stream is open. It keeps the session from timing out, and finds out whether
 * a server that says nothing is only busy: when the call fails, the line is dropped, so that the stream can be continued over
 * a new one.
 */
export function keepAlive(session: SessionContext, giveUp: AbortSignal): KeepAlive {
  const ended = new AbortController()
  const dead = new AbortController()
  let lost: SparkError | undefined
  let isAsking = false
  const ask = async (): Promise<void> => {
    if (isAsking) return
    isAsking = true
    try {
      await call(session, (options) => askForNothing(session, options), ended.signal)
    } catch (error) {
      if (ended.signal.aborted) return
      if (error instanceof SparkError && error.code === 'SESSION_LOST') lost = error
      else session.connection.reset()
      dead.abort(error)
    } finally {
      isAsking = false
    }
  }
  const timer = setInterval(() => void ask(), session.limits.keepAliveMs)
  return {
    signal: AbortSignal.any([dead.signal, giveUp]),
    throwIfLost() {
      if (lost) throw lost
    },
    end() {
      clearInterval(timer)
      ended.abort()
    },
  }
}

function askForNothing(session: SessionContext, options: object) {
  return session.connection.calls.config(
    { ...session.fields(), operation: { opType: { case: 'getOption', value: { keys: [] } } } },
    options,
  )
}
