import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServedService, startServedService } from '../../support/served.ts'
import { until } from '../../support/waiting.ts'
import { REPOSITORY } from '../harness/environment.ts'
import { type Prometheus, prometheusAvailable, promtool, startPrometheus } from '../harness/prometheus.ts'

const available = prometheusAvailable('metrics and Prometheus')
const GRAFANA = join(REPOSITORY, 'deploy', 'grafana')
const METRICS_TOKEN = 'metrics-token-0123456789'

describe.skipIf(!available)('a real Prometheus', () => {
  let served: ServedService
  let prometheus: Prometheus
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-prometheus-'))
    served = await startServedService({
      env: { METRICS_TOKEN },
      events: { commits: 2, filesPerCommit: 6, rowsPerFile: 10 },
    })
    const { service, host } = served
    const given = await readFile(join(GRAFANA, 'prometheus.yaml'), 'utf8')
    const configuration = given.replace('127.0.0.1:3000', host).replaceAll('_interval: 15s', '_interval: 1s')
    expect(configuration).toContain(host)
    await writeFile(join(folder, 'prometheus.yaml'), configuration)
    await writeFile(join(folder, 'alerts.yaml'), await readFile(join(GRAFANA, 'alerts.yaml')))
    await writeFile(join(folder, 'metrics-token'), METRICS_TOKEN)
    expect((await service.post('/api/compact', { table: 'demo.events' })).status).toBe(200)
    await service.get('/api/table/demo.none')
    prometheus = await startPrometheus(join(folder, 'prometheus.yaml'), folder)
    await until(async () => Number((await prometheus.query('count_over_time(up[1m])'))[0]?.value[1]) > 3, '4 scrapes')
  })
  afterAll(async () => {
    await prometheus?.stop()
    await served?.stop(true)
    await rm(folder, { recursive: true, force: true })
  })

  it('scrapes the service with the token of the metrics, and stores what the service counted', async () => {
    expect((await prometheus.query('up{job="lockhouse"}'))[0]?.value[1]).toBe('1')
    const done = await prometheus.query('lockhouse_operations_total{kind="compact",outcome="succeeded"}')
    expect(done[0]?.value[1]).toBe('1')
  })

  it('has no complaint about names, types and help: promtool check metrics', async () => {
    const { body } = await served.service.get('/metrics')
    expect(await promtool(['check', 'metrics'], body)).toBe('')
    await expect(promtool(['check', 'metrics'], 'bad_total 1\nx_ms 1\n')).rejects.toThrow()
  })

  it('gets at least one series from every query of the dashboard', async () => {
    const dashboard = JSON.parse(await readFile(join(GRAFANA, 'dashboard.json'), 'utf8'))
    const expressions = dashboard.panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
      targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '30s').replaceAll('$job', 'lockhouse')),
    )
    expect(expressions.length).toBeGreaterThan(30)
    const empty = []
    for (const expression of expressions) {
      if ((await prometheus.query(expression)).length === 0) empty.push(expression)
    }
    expect(empty).toEqual([])
  })

  it('evaluates every alert rule over metrics that exist, and none fires', async () => {
    expect(await promtool(['check', 'rules', join(GRAFANA, 'alerts.yaml')])).toContain('SUCCESS')
    const rules = await until(async () => {
      const found = await prometheus.rules()
      return found.length > 0 && found.every(({ health }) => health !== 'unknown') && found
    }, 'an evaluation of the rules')
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
    expect(rules.filter(({ state }) => state === 'firing')).toEqual([])
    const names = new Set(rules.flatMap(({ query }) => query.match(/\b(?:lockhouse_\w+|up)\b/g) ?? []))
    const absent = []
    for (const name of names) if ((await prometheus.query(name)).length === 0) absent.push(name)
    expect(absent).toEqual([])
  })
})
