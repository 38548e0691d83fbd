import { liveness, serviceHealth } from '../schemas/service-health.ts'
import type { HealthService } from '../services/health/health-service.ts'
import { type Route, route } from './route.ts'

/** Health of the service (spec, section 4). */
export function healthRoutes({ health }: { readonly health: HealthService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/health',
      operationId: 'getServiceHealth',
      summary: 'Health of the service and what it stands on',
      minRole: 'none',
      responses: { 200: { description: 'Up; `degraded` when a part fails', schema: serviceHealth } },
      handle: async () => ({ status: 200, body: await health.check() }),
    }),
    route({
      method: 'get',
      path: '/api/health/live',
      operationId: 'getLiveness',
      summary: 'Whether the process answers',
      minRole: 'none',
      responses: { 200: { description: 'It does', schema: liveness } },
      handle: async () => ({ status: 200, body: { status: 'ok' } }),
    }),
    route({
      method: 'get',
      path: '/api/health/ready',
      operationId: 'getReadiness',
      summary: 'Whether the service can take work',
      minRole: 'none',
      responses: {
        200: { description: 'It can', schema: serviceHealth },
        503: { description: 'It cannot, and why', schema: serviceHealth },
      },
      handle: async () => {
        const body = await health.check()
        const { cluster: _, ...needed } = body.checks // without it, all but notebooks works
        // What cannot be written can still be read, and nobody is helped by a service that is taken away.
        const readable = new Set<string>(body.problems.map(({ check }) => check))
        const ready = Object.entries(needed).every(([name, check]) => check === 'ok' || readable.has(name))
        return { status: ready ? 200 : 503, body }
      },
    }),
  ]
}
