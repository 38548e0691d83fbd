import type { SparkConnection } from './connection.ts'
import type { SparkLimits } from './limits.ts'
import type { SparkIdentity } from '../spark-client.ts'
import { SparkError } from '../spark-error.ts'

/** What every answer of Spark says about its session. */
interface Answer {
  readonly sessionId: string
  readonly serverSideSessionId: string
}

/** The identity of a session: what each request says about it, and whether the answers are those of the same session. */
export class SessionContext {
  readonly connection: SparkConnection
  readonly limits: SparkLimits
  readonly address: string
  readonly #identity: SparkIdentity
  #serverSideSessionId: string | undefined

  constructor(server: { connection: SparkConnection; limits: SparkLimits; address: string }, identity: SparkIdentity) {
    this.connection = server.connection
    this.limits = server.limits
    this.address = server.address
    this.#identity = identity
    this.#serverSideSessionId = identity.serverSideSessionId
  }

  get sessionId(): string {
    return this.#identity.sessionId
  }

  /** The server's own id of the session, which changes when it restarts. */
  get serverSideSessionId(): string | undefined {
    return this.#serverSideSessionId
  }

  /** The fields that each request begins with. */
  fields() {
    const { sessionId, userId } = this.#identity
    const observed = this.#serverSideSessionId
    return {
      sessionId,
      userContext: { userId, userName: userId },
      clientType: 'lockhouse',
      ...(observed === undefined ? {} : { clientObservedServerSideSessionId: observed }),
    }
  }

  /** Throws `SESSION_LOST` when another session answered, `PROTOCOL` when the answer is for another client. */
  observe({ sessionId, serverSideSessionId }: Answer): void {
    if (sessionId !== this.sessionId) {
      throw new SparkError('PROTOCOL', `Spark answered for session ${sessionId} instead of ${this.sessionId}`)
    }
    // Answers about a closed session have none.
    if (serverSideSessionId === '') return
    this.#serverSideSessionId ??= serverSideSessionId
    if (serverSideSessionId !== this.#serverSideSessionId) {
      throw new SparkError('SESSION_LOST', `Spark at ${this.address} restarted: session ${sessionId} is a new one`)
    }
  }
}
