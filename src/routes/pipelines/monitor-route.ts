import { HttpError } from '../../middleware/http-error.ts'
import { monitorMessage, monitorQuery } from '../../schemas/monitor.ts'
import type { Logger } from '../../services/logger.ts'
import { type MonitorService, type WatchEnd, WatchEnded } from '../../services/pipelines/monitor-service.ts'
import { type Route, route } from '../routing/route.ts'
import { type CloseFrame, streamToSocket } from '../routing/socket-stream.ts'

/** The subprotocol of the monitor; browsers also offer their token, as `bearer.<token>`. */
const PROTOCOL = 'lockhouse.v1'
const MAX_MESSAGE_BYTES = 4096

const CLOSE_FRAMES: Readonly<Record<WatchEnd, CloseFrame>> = {
  'credential-over': [4401, 'the credential is no longer valid'],
  'role-too-low': [4403, 'the role no longer allows it'],
  unavailable: [1013, 'the credential cannot be checked: try again later'],
  'too-many': [1013, 'too many watchers'],
}

export interface MonitorRouteDeps {
  readonly monitor: MonitorService
  readonly log: Logger
}

/** Pipelines in real time (docs/api.md#monitor). */
export function monitorRoutes({ monitor, log }: MonitorRouteDeps): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/pipeline/monitor',
      operationId: 'monitorPipelines',
      reach: 'filtered',
      summary:
        'WebSocket: `hello` with all pipelines, then `state` and `progress` as they come, `heartbeat` every 15 s. ' +
        'Subprotocol `lockhouse.v1`; a token goes into `Authorization` or the subprotocol `bearer.<token>`. ' +
        'Closed with 1001 at shutdown, 1013 when the client does not read for 30 s, 4401 when the credential expires, ' +
        '4403 when the role is too low',
      minRole: 'Auditor',
      query: monitorQuery,
      responses: { 101: { description: 'A WebSocket with these text frames', schema: monitorMessage } },
      refuses: [426],
    }).handle(async (input) => {
      const { upgrade, checkCaller, requestId } = input.exchange
      const offered = input.exchange.header('sec-websocket-protocol')
      if (upgrade === undefined) {
        throw new HttpError('UPGRADE_REQUIRED', 'this endpoint is a WebSocket: send an Upgrade request', {
          Upgrade: 'websocket',
          Connection: 'Upgrade',
        })
      }
      const request = { caller: input.caller, pipelineId: input.query.pipeline_id, checkCaller }
      await monitor.requireRoom(request)
      const handlers = streamToSocket({
        frames: (signal) => monitor.watch(request, signal),
        closeFrameFor: (error) => (error instanceof WatchEnded ? CLOSE_FRAMES[error.reason] : undefined),
        onError: (error) => log.error('a monitor failed', { request_id: requestId, error }),
        ...monitor.settings,
      })
      const protocol = offers(offered, PROTOCOL) ? PROTOCOL : undefined
      return upgrade(handlers, { protocol, maxMessageBytes: MAX_MESSAGE_BYTES })
    }),
  ]
}

function offers(protocols: string | undefined, protocol: string): boolean {
  return (protocols ?? '').split(',').some((one) => one.trim() === protocol)
}
