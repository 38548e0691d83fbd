import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'
import { LONG } from '../../support/effort.ts'
import { until } from '../../support/waiting.ts'
import { type Collector, type SentSpan, startCollector } from './collector.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

describe('OpenTelemetry traces', () => {
  let collector: Collector
  let service: TestService
  beforeEach(async () => {
    collector = await startCollector()
    service = await startTestService({
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
      events: { commits: 2, filesPerCommit: 6, rowsPerFile: 10 },
    })
  })
  afterEach(async () => {
    await service.close()
    await collector.close()
  })

  const compact = (headers = {}) => service.post('/api/compact', { table: 'demo.events' }, { headers })
  const named = (name: string): Promise<SentSpan> =>
    until(() => collector.spans.find((span) => span.name === name), `a span ${name}`)

  it('continue the trace of the caller, from the request to the operation, the engine and the catalog', async () => {
    expect((await compact({ traceparent: `00-${TRACE}-${PARENT}-01` })).status).toBe(200)
    const request = await named('POST /api/compact')
    expect(request).toMatchObject({ traceId: TRACE, parentSpanId: PARENT })
    expect(request.attributes).toContainEqual({ key: 'http.response.status_code', value: { intValue: 200 } })
    for (const name of ['operation compact', 'engine rewrite', 'catalog commit']) {
      expect(await named(name)).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId })
    }
  })

  it.each(['00-short-b7ad6b7169203331-01', `00-${'0'.repeat(32)}-${PARENT}-01`, 'x'.repeat(5000)])(
    'begin a new trace when the header of the caller is malformed (%#)',
    LONG,
    async (traceparent) => {
      expect((await service.get('/api/tables', { headers: { traceparent } })).status).toBe(200)
      const span = await named('GET /api/tables')
      expect(span.traceId).toMatch(/^[0-9a-f]{32}$/)
      expect(span.traceId).not.toBe('0'.repeat(32))
      expect(span.parentSpanId ?? '').toBe('')
    },
  )

  it('name no table, user or token', LONG, async () => {
    await service.post('/api/auth/tokens', { user: 'secret-user', role: 'Auditor', name: 'secret-token' })
    await service.get('/api/table/demo.events?secret-query=1')
    await compact()
    await named('operation compact')
    const sent = collector.bodies.join('\n')
    expect(sent).not.toMatch(/secret-|demo\.events|lh_test/)
    expect(sent).toContain('/api/table/{table_name}')
  })

  it.each(['failing', 'silent', 'gone'] as const)(
    'do not disturb the service when the collector is %s',
    LONG,
    async (how) => {
      if (how === 'gone') await collector.close()
      else collector.mode = how
      for (let round = 0; round < 3000; round += 1)
        expect((await service.app.request('/api/health/live')).status).toBe(200)
      expect((await compact()).status).toBe(200)
      if (how !== 'gone') await until(() => collector.bodies.length > 0, 'an attempt to send')
      await service.restart()
      expect((await service.get('/api/tables')).status).toBe(200)
    },
  )
})
