import type { MetricsService } from '../services/metrics/metrics-service.ts'
import { type Route, route } from './routing/route.ts'

/** The metrics of the process (docs/api.md#metrics). */
export function metricsRoutes({ metrics }: { readonly metrics: MetricsService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/metrics',
      operationId: 'getMetrics',
      summary: 'Metrics of this process in the text format of Prometheus',
      minRole: 'Auditor',
      responses: { 200: { description: 'Text format, version 0.0.4', contentType: 'text/plain' } },
    }).handle(async () => {
      const { contentType, text } = await metrics.expose()
      return new Response(text, { headers: { 'Content-Type': contentType, 'Cache-Control': 'no-store' } })
    }),
  ]
}
