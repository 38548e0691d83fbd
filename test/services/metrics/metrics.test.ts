import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHealthIndexStore, type TableHealth } from '../../../src/storage/stores/tables/health-index-store.ts'
import type { StreamingPipelinesTable } from '../../../src/storage/schema.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { stateOf } from '../../support/state-of.ts'
import { LONG } from '../../support/effort.ts'

const AT = '2026-11-23T10:00:00.000Z'
const METRICS_TOKEN = 'metrics-token-0123456789'

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`metrics on ${kind.name}`, () => {
    let service: TestService
    let env: Readonly<Record<string, string>>
    beforeEach(async () => {
      const place = await kind.place()
      env = place.env
      service = await startTestService({
        env: { ...place.env, METRICS_TOKEN },
        events: { commits: 2, filesPerCommit: 6, rowsPerFile: 10 },
        overrides: { automation: { index: { pollMs: 3_600_000 } } },
        onClose: place.remove,
      })
    })
    afterEach(() => service.close())

    const scrape = async (): Promise<string> => (await service.get('/metrics')).body
    const values = async () => new Map((await scrape()).split('\n').flatMap(sample))

    /** Tables in the health index, and pipelines. */
    async function fill(from: number, to: number): Promise<void> {
      const db = stateOf(service.folder, env)
      for (let at = from; at < to; at += 100) {
        const numbers = Array.from({ length: Math.min(100, to - at) }, (_, offset) => at + offset)
        await createHealthIndexStore(db).save(numbers.map(poorTable), [])
        await db.insertInto('streaming_pipelines').values(numbers.map(stoppedPipeline)).execute()
      }
      await db.destroy()
    }

    it('answers in the text format of Prometheus, each family with HELP and TYPE', async () => {
      await service.get('/api/tables')
      const { status, headers, body } = await service.get('/metrics')
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
      const families = [...String(body).matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
      expect(new Set(families).size).toBe(families.length)
      expect([...String(body).matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name)).toEqual(families)
      expect(families.filter((name) => !/^(lockhouse|process)_/.test(name ?? ''))).toEqual([])
      const of = (name: string) => families.includes(name)
      expect(['lockhouse_tables', 'lockhouse_pipelines', 'lockhouse_build_info'].every(of)).toBe(true)
    })

    it('counts operations by kind and outcome, with their time and bytes, and the calls of the catalog', async () => {
      const before = await values()
      const done = await service.post('/api/compact', { table: 'demo.events' })
      expect(done.status).toBe(200)
      const refused = await service.post('/api/expire', { table: 'demo.none' })
      expect(refused.status).toBe(404)
      const after = await values()
      expect(after.get('lockhouse_operations_total{kind="compact",outcome="succeeded"}')).toBe(1)
      expect(after.get('lockhouse_operation_duration_seconds_count{kind="compact"}')).toBe(1)
      expect(after.get('lockhouse_operation_written_bytes_total{kind="compact"}')).toBeGreaterThan(0)
      const commits = 'lockhouse_catalog_call_duration_seconds_count{operation="commit"}'
      expect(after.get(commits)).toBe((before.get(commits) ?? 0) + 1)
      expect(after.get('lockhouse_catalog_errors_total{operation="commit"}')).toBe(0)
      expect(after.get('lockhouse_catalog_errors_total{operation="load_table"}')).toBeGreaterThan(0)
      expect(after.get('lockhouse_engine_slots_in_use{lane="maintenance"}')).toBe(0)
      expect(after.get('lockhouse_engine_memory_limit_bytes')).toBe(1e9)
      expect(after.get('lockhouse_probe_success{probe="state"}')).toBe(1)
    })

    it('counts requests by route pattern, method and class of status', async () => {
      await service.get('/api/table/demo.events')
      await service.get('/api/table/demo.none')
      await service.get('/api/nothing/here')
      const seen = await values()
      const count = (route: string, status: string) =>
        seen.get(`lockhouse_http_request_duration_seconds_count{method="GET",route="${route}",status="${status}"}`)
      expect(count('/api/table/{table_name}', '2xx')).toBe(1)
      expect(count('/api/table/{table_name}', '4xx')).toBe(1)
      expect(count('other', '4xx')).toBe(1)
    })

    it('reports the ends of the logs and the backlog of deliveries', async () => {
      await service.post('/api/auth/tokens', { user: 'ada', role: 'Auditor', name: 'test' })
      const entries = (await service.get('/api/audit')).body
      const events = (await service.get('/api/events?since=0')).body
      const seen = await values()
      expect(seen.get('lockhouse_audit_last_sequence')).toBe(entries[0].seq)
      expect(seen.get('lockhouse_event_last_sequence')).toBeGreaterThanOrEqual(events.last_seq)
      expect(seen.get('lockhouse_alert_deliveries{state="pending"}')).toBe(0)
      expect(seen.get('lockhouse_alert_deliveries{state="failed"}')).toBe(0)
      expect([...seen.keys()].filter((name) => name.includes('webhook'))).toEqual([])
    })

    it('opens to METRICS_TOKEN, which opens nothing else, and to any token of the service', async () => {
      const status = async (path: string, token: string | null) => (await service.get(path, { token })).status
      expect(await status('/metrics', METRICS_TOKEN)).toBe(200)
      expect(await status('/api/tables', METRICS_TOKEN)).toBe(401)
      expect(await status('/metrics', `${METRICS_TOKEN}x`)).toBe(401)
      expect(await status('/metrics', null)).toBe(401)
      const made = await service.post('/api/auth/tokens', { user: 'ada', role: 'Auditor', name: 'test' })
      expect(await status('/metrics', made.body.token)).toBe(200)
    })

    it('has as many series after 10,000 unknown addresses, tables and pipelines', LONG, async () => {
      const ask = async (at: number): Promise<void> => {
        await service.app.request(`/api/unknown-${at}/${at}`)
        await service.app.request(`/unknown-${at}`, { method: at % 2 ? 'BREW' : `M${at}` })
        await service.app.request(`/api/table/demo.t${at}`)
      }
      await ask(0)
      await ask(1)
      await fill(0, 1)
      await scrape()
      const before = [...(await values()).keys()]
      for (let at = 2; at < 10_000; at += 1) await ask(at)
      await fill(1, 10_000)
      const seen = await values()
      expect([...seen.keys()].filter((series) => !before.includes(series))).toEqual([])
      expect(seen.get('lockhouse_tables{band="poor"}')).toBe(10_000)
      expect(seen.get('lockhouse_pipelines{state="stopped"}')).toBe(10_000)
      expect(before.length).toBeLessThan(700)
    })
  })
}

/** A measured table of the health index, in poor health. */
function poorTable(at: number): TableHealth {
  return {
    table_name: `many.t${at}`,
    namespace: 'many',
    table_uuid: `uuid-${at}`,
    metadata_location: `file:///none/${at}`,
    measured_at: AT,
    score: 10,
    band: 'poor',
    problem: null,
    data_file_count: 1,
    total_size_bytes: 1,
    small_file_count: 1,
    delete_file_count: 0,
    equality_delete_file_count: 0,
    deleted_ppm: 0,
    snapshot_count: 1,
    manifest_count: 1,
    partition_count: 1,
    record_count: 1,
    held_bytes: 0,
    sequence_number: 1,
    newest_snapshot_ms: null,
    last_commit_ms: 1,
    freshness_target: null,
    freshness_ms: null,
    is_stale: false,
    is_unhealthy: false,
    is_off: false,
    actions_json: '[]',
  }
}

/** A pipeline that has stopped. */
function stoppedPipeline(at: number): StreamingPipelinesTable {
  return {
    id: `pipe-${at}`,
    run_id: `run-${at}`,
    query_id: `query-${at}`,
    sources_json: '[]',
    sink_table: `many.s${at}`,
    checkpoint_location: `file:///none/${at}`,
    trigger_interval: '1 second',
    trigger_ms: 1000,
    options_json: '{}',
    desired_state: 'stopped',
    state: 'stopped',
    error_json: null,
    warnings_json: '[]',
    positions_json: null,
    progress_json: null,
    definition_id: null,
    version_id: null,
    created_by: 'test',
    created_at: AT,
    started_at: null,
    stopped_at: AT,
    live_sink: null,
    lease_owner: null,
    lease_until_ms: null,
    degraded_at_ms: null,
    environment: null,
    parameters_json: null,
    engine: 'embedded',
    spark_json: null,
  }
}

function sample(line: string): readonly (readonly [string, number])[] {
  const match = /^([^#\s]\S*(?:\{.*\})?) (\S+)$/.exec(line)
  return match ? [[match[1] ?? '', Number(match[2])]] : []
}
