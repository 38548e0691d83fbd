import type { Dialect } from 'kysely'

import type { EmbeddedHost, EmbedOptions } from './embedded-host.ts'
import type { RunningServer, ServeOptions } from './http-server.ts'

/** The few things that differ between JavaScript runtimes. */
export interface Runtime {
  readonly name: 'bun' | 'node' | 'deno'
  /** A Kysely dialect over the SQLite file of the state; the file is created if missing. */
  readonly openStateFile: (path: string) => Dialect
  /** Listens for HTTP requests. Rejects with an error whose `code` is `EADDRINUSE` or `EACCES` when it cannot. */
  readonly serve: (options: ServeOptions) => Promise<RunningServer>
  /** Answers the requests of a server that something else runs. */
  readonly embed: (options: EmbedOptions) => EmbeddedHost
}
