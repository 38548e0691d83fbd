import { HttpError } from '../middleware/http-error.ts'
import { monitorMessage, monitorQuery } from '../schemas/monitor.ts'
import type { Logger } from '../services/logger.ts'
import { type MonitorService, type WatchEnd, WatchEnded } from '../services/monitor-service.ts'
import { requestContext, type Route, route } from './route.ts'
import { type Goodbye, streamToSocket } from './socket-stream.ts'

/** The subprotocol of the monitor; a browser offers its token beside it, as `bearer.<token>`. */
const PROTOCOL = 'lockhouse.v1'
const MAX_MESSAGE_BYTES = 4096

const GOODBYES: Readonly<Record<WatchEnd, Goodbye>> = {
  'credential-over': [4401, 'the credential is not valid any more'],
  'role-too-low': [4403, 'the role does not allow it any more'],
  unavailable: [1013, 'the credential cannot be checked: try again later'],
  'too-many': [1013, 'too many watch already'],
}

export interface MonitorRouteDeps {
  readonly monitor: MonitorService
  readonly log: Logger
}

/** Pipelines in real time (spec, section 6; contract, section 6). */
export function monitorRoutes({ monitor, log }: MonitorRouteDeps): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/pipeline/monitor',
      operationId: 'monitorPipelines',
      summary:
        'WebSocket: `hello` with all pipelines, then `state` and `progress` as they come, `heartbeat` every 15 s. ' +
        'Subprotocol `lockhouse.v1`; a token goes into `Authorization` or the subprotocol `bearer.<token>`. ' +
        'Closed with 1001 at shutdown, 1013 when nothing is taken for 30 s, 4401 when the credential is over, ' +
        '4403 when the role is',
      minRole: 'Auditor',
      query: monitorQuery,
      responses: { 101: { description: 'A WebSocket with these text frames', schema: monitorMessage } },
      refuses: [426],
      handle: async (input) => {
        if (input.upgrade === undefined) {
          const headers = { Upgrade: 'websocket', Connection: 'Upgrade' }
          throw new HttpError(426, 'UPGRADE_REQUIRED', 'this is a WebSocket: ask for an upgrade', headers)
        }
        // The socket outlives the request: what it keeps is taken out of it here.
        const { query, checkCaller, requestId } = input
        const request = { caller: requestContext(input).caller, pipelineId: query.pipeline_id, checkCaller }
        await monitor.requireRoom(request)
        const handlers = streamToSocket({
          frames: (signal) => monitor.watch(request, signal),
          goodbyeFor: (error) => (error instanceof WatchEnded ? GOODBYES[error.reason] : undefined),
          onError: (error) => log.error('a monitor failed', { request_id: requestId, error }),
          ...monitor.settings,
        })
        const protocol = offers(input.headers, PROTOCOL) ? PROTOCOL : undefined
        return input.upgrade(handlers, { protocol, maxMessageBytes: MAX_MESSAGE_BYTES })
      },
    }),
  ]
}

function offers(headers: Headers, protocol: string): boolean {
  const offered = headers.get('sec-websocket-protocol')?.split(',') ?? []
  return offered.some((one) => one.trim() === protocol)
}
