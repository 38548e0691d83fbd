import { parseConfig } from '../config/config.ts'
import { createLogger } from '../services/logger.ts'
import { type EmbeddedService, embedService } from './embed-service.ts'

export interface LockhouseOptions {
  /** Folder of the state, the embedded warehouse and scratch files; default `./data`. One service per folder. */
  readonly home?: string
  /** Path of the host below which the service answers, such as `/lake`; default: the whole host. */
  readonly basePath?: string
  /** Settings by their names in docs/guide.md#settings; the environment of the process is not read. */
  readonly settings?: Readonly<Record<string, string>>
  /** Called with each line of the log, JSON without its end; default: no log. */
  readonly log?: (line: string) => void
}

/** A service inside another program. */
export type Lockhouse = EmbeddedService

/**
 * Opens a service for a host that serves it: `fetch` answers requests, `websocket` (Bun) and `upgrade` (`node:http`) open
 * WebSockets. It listens on no port, handles no signal and prints nothing. Several services in one process need a folder
 * each. Rejects with an error that says which setting is wrong, or that the folder is in use.
 */
export async function createLockhouse(options: LockhouseOptions = {}): Promise<Lockhouse> {
  const { home, basePath, settings = {}, log: write } = options
  const env = {
    ...settings,
    ...(home === undefined ? {} : { LOCKHOUSE_HOME: home }),
    ...(basePath === undefined ? {} : { BASE_PATH: basePath }),
  }
  const config = parseConfig(env)
  const log = createLogger(write === undefined ? 'silent' : config.logLevel, write ?? (() => undefined))
  return embedService({ config, env, log })
}
