import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import type { Logger } from '../services/logger.ts'
import { detectRuntime } from './detect-runtime.ts'
import type { EmbeddedHost } from './embedded-host.ts'
import { MAX_SERVICE_MESSAGE_BYTES, openService, type ServiceBundle } from './open-service.ts'

export interface EmbedServiceOptions {
  readonly config: Config
  readonly env: Env
  readonly log: Logger
  readonly bundle?: ServiceBundle | undefined
}

/** A service that another part of this process serves or asks. */
export interface EmbeddedService extends Omit<EmbeddedHost, 'stop'> {
  /** The administrator's token, of the very first start only; later starts do not know it. */
  readonly firstToken: string | undefined
  /** Ends running work and all WebSockets, and gives the folder back. */
  readonly close: () => Promise<void>
}

/** Opens a service and its background work, without a port and without signals. */
export async function embedService(options: EmbedServiceOptions): Promise<EmbeddedService> {
  const { log } = options
  const runtime = await detectRuntime()
  const { context, fetch } = await openService({ ...options, runtime })
  const host = runtime.embed({
    fetch,
    onError: (error) => log.error('unhandled error', { error }),
    maxSocketMessageBytes: MAX_SERVICE_MESSAGE_BYTES,
  })
  context.startBackground()
  void context.makeDemo()
  return {
    fetch: host.fetch,
    upgrade: host.upgrade,
    websocket: host.websocket,
    firstToken: context.firstToken,
    async close() {
      await host.stop()
      await context.close()
    },
  }
}
