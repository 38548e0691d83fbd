import { liveness, type ServiceHealth, serviceHealth } from '../schemas/service-health.ts'
import type { HealthReport, HealthService } from '../services/health/health-service.ts'
import { JsonText } from './routing/answer.ts'
import { publicRoute, type Route } from './routing/route.ts'

/** Health of the service (docs/api.md#service-health). */
export function healthRoutes({ health }: { readonly health: HealthService }): Route[] {
  return [
    publicRoute({
      method: 'get',
      path: '/api/health',
      operationId: 'getServiceHealth',
      summary: 'Health of the service and its dependencies',
      responses: { 200: { description: 'Up; `degraded` when a part fails', schema: serviceHealth } },
    }).handle(() => {
      const report = health.report()
      return report instanceof Promise ? report.then(toAnswer) : toAnswer(report)
    }),
    publicRoute({
      method: 'get',
      path: '/api/health/live',
      operationId: 'getLiveness',
      summary: 'Liveness check',
      responses: { 200: { description: 'The process is alive', schema: liveness } },
    }).handle(() => ({ status: 200, body: { status: 'ok' } })),
    publicRoute({
      method: 'get',
      path: '/api/health/ready',
      operationId: 'getReadiness',
      summary: 'Readiness check',
      responses: {
        200: { description: 'Ready', schema: serviceHealth },
        503: { description: 'Not ready, and why', schema: serviceHealth },
      },
    }).handle(async () => {
      const { health: body } = await health.report()
      const { cluster: _, ...needed } = body.checks // only notebooks need it
      // When writes fail, reads still work, so the service stays ready.
      const readable = new Set<string>(body.problems.map(({ check }) => check))
      const ready = Object.entries(needed).every(
        ([name, check]) => check === 'ok' || check === 'starting' || readable.has(name),
      )
      return { status: ready ? 200 : 503, body }
    }),
  ]
}

function toAnswer({ text }: HealthReport) {
  return { status: 200, body: new JsonText<ServiceHealth>(text) } as const
}
