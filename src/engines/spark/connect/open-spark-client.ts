import { openConnection } from './line/connection.ts'
import { DEFAULT_LIMITS, type SparkLimits } from './line/limits.ts'
import { parseSparkRemote } from './line/remote.ts'
import { ConnectSession } from './session.ts'
import { SessionContext } from './line/session-context.ts'
import type { SparkClient } from './spark-client.ts'

/** Options of a client. */
export interface SparkClientOptions {
  /** Certificates (PEM) to trust instead of those of the runtime. */
  readonly certificateAuthority?: string
  readonly limits?: Partial<SparkLimits>
}

/** A client of the server at `sc://host:port/;token=…`; connects when it is used. Throws `INVALID_ARGUMENT`. */
export function openSparkClient(remote: string, options: SparkClientOptions = {}): SparkClient {
  const parsed = parseSparkRemote(remote)
  const connection = openConnection(parsed, options)
  const server = { connection, limits: { ...DEFAULT_LIMITS, ...options.limits }, address: parsed.address }
  return {
    address: parsed.address,
    session: (identity) => new ConnectSession(new SessionContext(server, identity)),
    close: () => {
      connection.reset()
      return Promise.resolve()
    },
  }
}
