import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pyicebergAvailable } from '../harness/environment.ts'
import { PyIceberg, type TableAnswer } from '../harness/pyiceberg.ts'
import { Service, type CatalogSettings } from '../harness/service.ts'
import { type Found, until } from '../../support/waiting.ts'

interface Pipeline {
  readonly id: string
  readonly state: string
  readonly error: { readonly code: string; readonly message: string } | null
  readonly warnings: readonly string[]
}

const available = pyicebergAvailable('pipelines between tables that PyIceberg changes')

describe.skipIf(!available)('a pipeline from and to tables that PyIceberg changes', { timeout: 300_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'streaming-pyiceberg-')) : ''
  const settings: CatalogSettings = {
    catalog_type: 'sql',
    warehouse: `file://${folder}/warehouse`,
    catalog_name: 'house',
    uri: `sqlite:///${folder}/catalog.db`,
  }
  let service: Service
  let python: PyIceberg

  beforeAll(async () => {
    python = new PyIceberg(settings)
    await python.change('p.first', 'create')
    service = await Service.start({ home: `${folder}/home` })
    await service.configure(settings)
  }, 300_000)

  afterAll(async () => {
    python?.stop()
    await service?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function start(name: string, more: object = {}): Promise<string> {
    const answer = await service.post('/api/pipeline/start', {
      source_table: `p.${name}`,
      sink_table: `p.${name}_sink`,
      checkpoint_location: `${folder}/warehouse/checkpoints/${name}`,
      trigger_interval: '100 ms',
      create_sink_table: true,
      ...more,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return (answer.body['pipeline'] as Pipeline).id
  }

  const stop = (id: string) => service.post(`/api/pipeline/${id}/stop`, {})
  const status = async (id: string): Promise<Pipeline> =>
    (await service.read<{ pipeline: Pipeline }>(`/api/pipeline/${id}/status`)).pipeline

  const soon = <T>(what: string, check: () => Promise<T>): Promise<Found<T>> =>
    until(check, () => `${what}\n${service.log}`, 60_000)

  const untilState = (id: string, state: string) =>
    soon(`state ${state}`, async () => {
      const pipeline = await status(id)
      return pipeline.state === state && pipeline
    })

  const ids = ({ rows }: TableAnswer): number[] => rows.map(({ id }) => id)
  const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)
  const sinkOf = (name: string) => python.change(`p.${name}_sink`, 'rows')

  /** Waits for this many rows, and returns the rows that PyIceberg reads then. */
  const untilRows = (name: string, count: number): Promise<TableAnswer> =>
    soon(`${count} rows in the sink of ${name}`, async () => {
      const answer = await sinkOf(name).catch(() => undefined)
      return answer !== undefined && answer.rows.length >= count && answer
    })

  it.each([
    ['deletes', 'delete', { where: 'id < 5' }, 'overwrite'],
    ['drops', 'delete', { where: 'id >= 0' }, 'delete'],
    ['overwrites', 'overwrite', { first: 100, count: 10 }, 'delete'],
    ['parts', 'replace_partitions', { first: 0, count: 1 }, 'delete'],
    ['upserts', 'upsert', { first: 5, count: 10, text: 'changed' }, 'overwrite'],
  ] as const)(
    'stops at a snapshot that %s, after all earlier ones, and skips it on request',
    async (name, how, options, kind) => {
      await python.change(`p.${name}`, 'create', { partitioned: name === 'parts' })
      await python.change(`p.${name}`, 'append', { first: 0, count: 10 })
      const id = await start(name, { max_files_per_batch: 1 })
      await untilRows(name, 10)
      await python.change(`p.${name}`, 'append', { first: 10, count: 10 })
      const { operations } = await python.change(`p.${name}`, how, options)
      expect(operations.slice(2)).toContain(kind)
      await python.change(`p.${name}`, 'append', { first: 1000, count: 10 })
      const failed = await untilState(id, 'failed')
      expect(failed.error?.code).toBe('SOURCE_NOT_APPENDED')
      expect(failed.error?.message).toMatch(/snapshot \d+ .*"(overwrite|delete)".*on_delete/)
      expect(ids(await sinkOf(name))).toEqual(range(0, 20))
      expect(await start(name, { on_delete: 'skip' })).toBe(id)
      const sink = await soon('the last rows', async () => {
        const answer = await sinkOf(name)
        return answer.rows.filter((row) => row.id >= 1000).length === 10 && answer
      })
      // its separate append-only snapshot is read; the snapshot that removes rows is not
      const appended = { delete: [], overwrite: range(100, 110), replace_partitions: [0], upsert: range(5, 15) }[how]
      expect(
        ids(sink)
          .filter((one) => one < 1000)
          .sort((a, b) => a - b),
      ).toEqual([...range(0, 20), ...appended].sort((a, b) => a - b))
      expect(ids(sink).filter((one) => one >= 1000)).toEqual(range(1000, 1010))
      await soon('the warning', async () => (await status(id)).warnings.join().includes('on_delete'))
      await stop(id)
    },
  )

  it('follows columns that are added, renamed and dropped while it runs', async () => {
    await python.change('p.evolves', 'create')
    await python.change('p.evolves', 'append', { first: 0, count: 5 })
    const id = await start('evolves')
    await untilRows('evolves', 5)
    let first = 5
    for (const step of ['add_column', 'rename_column', 'drop_column'] as const) {
      await python.change('p.evolves', step)
      await python.change('p.evolves', 'append', { first, count: 5, text: `${step} ` })
      first += 5
      await untilRows('evolves', first)
    }
    const { rows } = await sinkOf('evolves')
    expect(rows[0]).toEqual({ id: 0, part: 0, name: 'n0', note: null })
    expect(rows[5]).toEqual({ id: 5, part: 2, name: 'add_column 5', note: 'add_column 5' })
    expect(rows[10]).toEqual({ id: 10, part: 1, name: 'rename_column 10', note: 'rename_column 10' })
    expect(rows[15]).toEqual({ id: 15, part: 0, name: 'drop_column 15', note: null })
    expect(await status(id)).toMatchObject({ state: 'running', error: null })
    await stop(id)
  })

  it('continues when PyIceberg, which ignores retention, has expired as much as it can', async () => {
    await python.change('p.expires', 'create')
    await python.change('p.expires', 'append', { first: 0, count: 10 })
    const id = await start('expires')
    await untilRows('expires', 10)
    await python.change('p.expires', 'expire')
    await python.change('p.expires', 'append', { first: 10, count: 10 })
    expect(ids(await untilRows('expires', 20))).toEqual(range(0, 20))
    await stop(id)
    for (let at = 2; at < 5; at += 1) await python.change('p.expires', 'append', { first: at * 10, count: 10 })
    // the one tagged for the pipeline, and the newest: the files show what was added in between
    expect((await python.change('p.expires', 'expire')).operations).toEqual(['append', 'append'])
    await start('expires')
    expect(ids(await untilRows('expires', 50))).toEqual(range(0, 50))
    await python.change('p.expires', 'append', { first: 50, count: 10 })
    expect(ids(await untilRows('expires', 60))).toEqual(range(0, 60))
    // killed, so that nothing was pinned
    await service.kill()
    for (let at = 6; at < 9; at += 1) await python.change('p.expires', 'append', { first: at * 10, count: 10 })
    expect((await python.change('p.expires', 'expire')).operations).toEqual(['append'])
    service = await Service.start({ home: `${folder}/home` })
    expect(ids(await untilRows('expires', 90))).toEqual(range(0, 90))
    expect(await status(id)).toMatchObject({ state: 'running', error: null })
    await stop(id)
  })

  it('runs a version of a definition, with monitor reports, through a stop, a kill -9 and a restart', async () => {
    for (const name of ['graph', 'graph_sink']) await python.change(`p.${name}`, 'create')
    await python.change('p.graph', 'append', { first: 0, count: 30 })
    const columns = [
      { name: 'id' },
      { name: 'part', expression: 'part * 10' },
      { name: 'name', expression: 'upper(name)' },
    ]
    const made = await service.post('/api/pipeline-defs', {
      name: 'every second row',
      description: '',
      nodes: [
        { id: 'in', type: 'iceberg-source', config: { table: 'p.graph' } },
        { id: 'even', type: 'filter', config: { condition: 'id % 2 = 0' } },
        { id: 'shape', type: 'select', config: { columns } },
        { id: 'loud', type: 'sql', config: { query: "SELECT id, part, name || '!' AS name FROM input" } },
        { id: 'out', type: 'iceberg-sink', config: { table: 'p.graph_sink' } },
      ],
      edges: ['in>even', 'even>shape', 'shape>loud', 'loud>out'].map((id) => {
        const [source, target] = id.split('>')
        return { id, source, target }
      }),
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { definition, version } = made.body as Record<'definition' | 'version', { id: string }>
    const path = `/api/pipeline-defs/${definition.id}/versions/${version.id}`
    const validation = await service.post(`${path}/validate`, {})
    expect(validation.body).toMatchObject({ runnable: true, problems: [], sink_table: 'p.graph_sink' })
    expect((await service.post(`${path}/promote`, {})).body).toMatchObject({ environment: 'qa' })
    const request = { version_id: version.id, checkpoint_location: 'checkpoints/graph', trigger_interval: '200 ms' }
    const startVersion = async (): Promise<string> => {
      const { status: code, body } = await service.post('/api/pipeline/start', request)
      expect(code, JSON.stringify(body)).toBe(200)
      return (body['pipeline'] as Pipeline).id
    }

    const told: Readonly<Record<string, unknown>>[] = []
    const monitor = service.watch((message) => told.push(message))
    await monitor.opened
    const id = await startVersion()
    await untilRows('graph', 15)
    await python.change('p.graph', 'append', { first: 30, count: 30 })
    await untilRows('graph', 30)
    await stop(id)
    const own = () => told.filter((message) => message['pipeline_id'] === id)
    const statesTold = () => own().flatMap(({ pipeline }) => (pipeline ? [(pipeline as Pipeline).state] : []))
    await soon('the last news', async () => statesTold().includes('stopped'))
    expect(told[0]).toMatchObject({ type: 'hello' })
    const states = statesTold()
    expect(states.filter((state, at) => state !== states[at - 1])).toEqual([
      'starting',
      'running',
      'stopping',
      'stopped',
    ])
    const read = own().flatMap(({ progress }) =>
      progress ? [(progress as { num_input_rows: number }).num_input_rows] : [],
    )
    expect(read.reduce((sum, rows) => sum + rows, 0)).toBe(60)
    monitor.close()

    await python.change('p.graph', 'append', { first: 60, count: 30 })
    expect(await startVersion()).toBe(id)
    await service.kill()
    await python.change('p.graph', 'append', { first: 90, count: 30 })
    service = await Service.start({ home: `${folder}/home` })
    const { rows } = await untilRows('graph', 60)
    expect(rows).toEqual(range(0, 60).map((at) => ({ id: at * 2, part: ((at * 2) % 3) * 10, name: `N${at * 2}!` })))
    expect(await status(id)).toMatchObject({ state: 'running', error: null })
    await stop(id)
  })

  it('writes into one sink together with PyIceberg', async () => {
    await python.change('p.beside', 'create')
    const id = await start('beside', { max_files_per_batch: 1 })
    await untilState(id, 'running')
    let others = 0
    for (let at = 0; at < 12; at += 1) {
      await python.change('p.beside', 'append', { first: at * 10, count: 10 })
      const beside = await python
        .change('p.beside_sink', 'append', { first: 5000 + others, count: 1 })
        .catch(() => undefined)
      if (beside !== undefined) others += 1
    }
    expect(others).toBeGreaterThan(0)
    const sink = await untilRows('beside', 120 + others)
    expect(ids(sink)).toEqual([...range(0, 120), ...range(5000, 5000 + others)])
    expect(await status(id)).toMatchObject({ state: 'running', error: null })
    await stop(id)
  })
})
