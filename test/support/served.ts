import { detectRuntime } from '../../src/server/detect-runtime.ts'
import { startTestService, type TestService, type TestServiceOptions } from './service.ts'

/** A {@link TestService} that also listens on a socket of loopback. */
export interface ServedService {
  readonly service: TestService
  /** `127.0.0.1:<port>` */
  readonly host: string
  stop(graceful: boolean): Promise<void>
}

/** Starts the real service on a free port; the caller stops it. */
export async function startServedService(options: TestServiceOptions = {}): Promise<ServedService> {
  const service = await startTestService(options)
  const runtime = await detectRuntime()
  const server = await runtime.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, connection) => service.app.fetch(request, connection),
  })
  return {
    service,
    host: `127.0.0.1:${server.port}`,
    async stop(graceful) {
      await server.stop(graceful)
      await service.close()
    },
  }
}
