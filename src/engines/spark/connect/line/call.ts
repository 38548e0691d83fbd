import { type CallOptions, ConnectError } from '@connectrpc/connect'
import { describeError } from './describe-error.ts'
import { faultKind, MAX_UNCLEAR } from './fault-kind.ts'
import { pause, Pauses } from './pauses.ts'
import type { SessionContext } from './session-context.ts'
import { SparkError } from '../spark-error.ts'

/** An answer that names its session. */
interface Answer {
  readonly sessionId: string
  readonly serverSideSessionId: string
}

/** A short call that may be repeated: again over a new line until `callMs` have passed. Throws `SparkError`. */
export async function call<T extends Answer>(
  session: SessionContext,
  send: (options: CallOptions) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + session.limits.callMs
  const pauses = new Pauses(session.limits)
  for (let unclear = 0; ;) {
    signal?.throwIfAborted()
    try {
      const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()))
      const answer = await send({ timeoutMs, ...(signal && { signal }) })
      session.observe(answer)
      return answer
    } catch (error) {
      if (signal?.aborted) throw new SparkError('CANCELLED', 'the call to Spark was cancelled', { cause: error })
      const kind = error instanceof SparkError ? 'answered' : faultKind(ConnectError.from(error))
      if (kind === 'unclear') unclear += 1
      const isOver = performance.now() + pauses.next >= deadline || unclear >= MAX_UNCLEAR
      if (isOver || kind === 'answered') throw await describeError(error, session)
      await pause(pauses.take(), signal)
    }
  }
}
