import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSparkClient } from '../../../src/engines/spark/connect/open-spark-client.ts'
import {
  PYTHON,
  pyicebergAvailable,
  REPOSITORY,
  sparkConnectAvailable,
  SQLITE_JDBC_JAR,
} from '../harness/environment.ts'
import { PyIceberg } from '../harness/pyiceberg.ts'
import { sortedRows } from '../harness/rows.ts'
import { type CatalogSettings, Service } from '../harness/service.ts'
import { houseCatalog, SparkConnect } from '../harness/spark-connect.ts'
import { sleep, until } from '../../support/waiting.ts'

interface Pipeline {
  readonly id: string
  readonly engine: string
  readonly state: string
  readonly query_id: string
  readonly error: { readonly code: string; readonly message: string } | null
  readonly last_progress: {
    readonly batch_id: number
    readonly num_input_rows: number
    readonly sources: readonly { readonly end_offset: { readonly snapshot_id: string } | null }[]
    readonly sink: { readonly num_output_rows: number; readonly snapshot_id: string | null }
  } | null
}

interface Comparison {
  readonly rows: number
  readonly missing: number
  readonly doubled: number
  readonly unknown: number
  readonly examples: readonly number[]
}

/** How often the service is killed, and Spark, whose start takes longer: 50 and 20 with SPARK_PIPELINE_CRASHES=50. */
const CRASHES = Number(process.env['SPARK_PIPELINE_CRASHES'] ?? 2)
const SPARK_CRASHES = Math.max(1, Math.round(CRASHES * 0.4))
/** How often a pipeline is started and stopped, and how often the snapshots that a stream reads are to expire. */
const CYCLES = Number(process.env['SPARK_PIPELINE_CYCLES'] ?? 3)
/** For how long nothing is written; Spark ends sessions that nobody used for 60 minutes, so try 61 with SPARK_IDLE_MINUTES=61. */
const IDLE_MINUTES = Number(process.env['SPARK_IDLE_MINUTES'] ?? 0)

const available =
  pyicebergAvailable('pipelines on Spark') &&
  sparkConnectAvailable('pipelines on Spark') &&
  SQLITE_JDBC_JAR !== undefined

describe.skipIf(!available)(
  'pipelines on Spark',
  { timeout: 600_000 + CRASHES * 120_000 + IDLE_MINUTES * 60_000 },
  () => {
    const folder = available ? mkdtempSync(join(tmpdir(), 'spark-pipelines-')) : ''
    const settings: CatalogSettings = {
      catalog_type: 'sql',
      warehouse: `file://${folder}/warehouse`,
      catalog_name: 'house',
      uri: `sqlite:///${folder}/catalog.db`,
    }
    const catalog = houseCatalog('house', folder)
    let spark: SparkConnect
    let service: Service
    let python: PyIceberg

    const startService = (): Promise<Service> =>
      Service.start({ home: `${folder}/home`, env: { SPARK_REMOTE: spark.remote() } })
    /** Starts Spark, and waits until it has opened the catalog, which takes longer than requests may. */
    async function startSpark(port?: number): Promise<void> {
      spark = await SparkConnect.start({
        scratch: `${folder}/scratch`,
        warehouse: `${folder}/spark`,
        settings: catalog,
        ...(port === undefined ? {} : { port }),
      })
      await until(() => sparkSql('SHOW NAMESPACES IN house').catch(() => undefined), 'Spark answers', 180_000)
    }

    beforeAll(async () => {
      mkdirSync(`${folder}/scratch`)
      python = new PyIceberg(settings)
      await python.change('p.first', 'create')
      await startSpark()
      service = await startService()
      await service.configure(settings)
    }, 400_000)

    afterAll(async () => {
      python?.stop()
      await service?.stop()
      await spark?.stop()
      if (folder !== '') rmSync(folder, { recursive: true, force: true })
    }, 60_000)

    async function sparkSql(query: string) {
      const client = openSparkClient(spark.remote())
      const session = client.session({ sessionId: crypto.randomUUID(), userId: 'test' })
      const rows = await session.sql({ query }, { operationId: crypto.randomUUID() })
      await session.release()
      await client.close()
      return rows
    }

    async function makeTables(name: string): Promise<void> {
      await python.change(`p.${name}`, 'create')
      await python.change(`p.${name}_sink`, 'create')
    }

    let next = 0
    const rowsOf = new Map<string, number>()
    async function write(name: string, count = 20): Promise<void> {
      await python.change(`p.${name}`, 'append', { first: next, count })
      next += count
      rowsOf.set(name, (rowsOf.get(name) ?? 0) + count)
    }

    const request = (name: string, engine: string, more: object = {}) =>
      service.post('/api/pipeline/start', {
        source_table: `p.${name}`,
        sink_table: `p.${name}_sink`,
        checkpoint_location: `${folder}/warehouse/checkpoints/${name}`,
        trigger_interval: '200 ms',
        engine,
        ...more,
      })

    async function start(name: string, engine: string, more: object = {}): Promise<Pipeline> {
      const answer = await request(name, engine, more)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return answer.body['pipeline'] as Pipeline
    }

    const status = async (id: string): Promise<Pipeline> =>
      (await service.read<{ pipeline: Pipeline }>(`/api/pipeline/${id}/status`)).pipeline

    async function stop(id: string): Promise<void> {
      await service.post(`/api/pipeline/${id}/stop`, {})
      await soon('the stop', async () => (await status(id)).state === 'stopped')
    }

    const soon = <T>(what: string, check: () => Promise<T>) => until(check, () => `${what}\n${service.log}`, 180_000)

    async function compare(table: string): Promise<Comparison> {
      const { uri, warehouse, catalog_name: name } = settings
      const options = { uri, warehouse, name, sources: [`p.${table}`], sink: `p.${table}_sink` }
      const script = `${REPOSITORY}/test/interop/python/pyiceberg_copied.py`
      const { stdout } = await promisify(execFile)(PYTHON ?? '', [script, JSON.stringify(options)])
      return JSON.parse(stdout) as Comparison
    }

    /** Until the sink has as many rows as the source; then every row must be there once. */
    async function expectCopied(name: string): Promise<void> {
      const wanted = rowsOf.get(name) ?? 0
      await soon(`${wanted} rows in the sink of ${name}`, async () => {
        await sleep(500) // each look reads the whole table
        const { rows } = await python.change(`p.${name}_sink`, 'rows')
        return rows.length >= wanted
      })
      expect(await compare(name)).toEqual({ rows: wanted, missing: 0, doubled: 0, unknown: 0, examples: [] })
    }

    it('starts, reports its batches with whole snapshot ids, and stops without a query left behind', async () => {
      await makeTables('a')
      await write('a')
      const { id, engine } = await start('a', 'spark')
      expect(engine).toBe('spark')
      await expectCopied('a')
      const running = await soon('the batch', async () => {
        const pipeline = await status(id)
        return pipeline.state === 'running' && pipeline.last_progress !== null && pipeline
      })
      const [snapshot] = await sparkSql('SELECT snapshot_id FROM house.p.a.snapshots')
      expect(running.last_progress?.num_input_rows).toBe(20)
      expect(running.last_progress?.sources[0]?.end_offset?.snapshot_id).toBe(String(snapshot?.['snapshot_id']))
      const written = await sparkSql('SELECT snapshot_id FROM house.p.a_sink.snapshots ORDER BY committed_at DESC')
      expect(running.last_progress?.sink.snapshot_id).toBe(String(written[0]?.['snapshot_id']))
      await stop(id)
      await write('a')
      await sleep(2000)
      expect((await python.change('p.a_sink', 'rows')).rows).toHaveLength(20)
      expect((await start('a', 'spark')).id).toBe(id)
      await expectCopied('a')
      await stop(id)
    })

    it(`starts and stops ${CYCLES} times, and leaves no query behind`, async () => {
      await makeTables('cycles')
      const ids = new Set<string>()
      for (let cycle = 0; cycle < CYCLES; cycle += 1) {
        await write('cycles', 2)
        const { id } = await start('cycles', 'spark')
        ids.add(id)
        if (cycle % 2 === 0) await soon('running', async () => (await status(id)).state === 'running')
        else await sleep(Math.random() * 500)
        await stop(id)
      }
      expect(ids.size).toBe(1)
      const { rows } = await python.change('p.cycles_sink', 'rows')
      await write('cycles', 2)
      await sleep(3000)
      expect((await python.change('p.cycles_sink', 'rows')).rows).toHaveLength(rows.length)
      const { id } = await start('cycles', 'spark')
      await expectCopied('cycles')
      await stop(id)
    })

    it(`keeps the snapshots that it has not read, however often they are to expire (${CYCLES})`, async () => {
      await makeTables('kept')
      await write('kept')
      const { id } = await start('kept', 'spark')
      await expectCopied('kept')
      let expired = 0
      const writeAndExpire = async (): Promise<void> => {
        await write('kept', 2)
        const older_than = new Date().toISOString()
        const { status: code, body } = await service.post('/api/expire', {
          table: 'p.kept',
          older_than,
          retain_last: 1,
        })
        expect([200, 409], JSON.stringify(body)).toContain(code)
        const details = code === 200 ? JSON.parse(String(body['details_json'])) : {}
        expired += Number(details['expired_snapshots_count'] ?? 0)
        expect((await status(id)).state).toBe('running')
      }
      for (let attempt = 0; attempt < CYCLES; attempt += 1) await writeAndExpire()
      await expectCopied('kept')
      // A slow stream may have read none of them in time; what it has read by now can expire.
      await soon('a snapshot expires', async () => {
        await writeAndExpire()
        return expired > 0
      })
      await expectCopied('kept')
      process.stdout.write(`${expired} snapshots expired in ${CYCLES} attempts while the stream read them\n`)
      await stop(id)
    })

    it.skipIf(IDLE_MINUTES === 0)(`copies and compacts after ${IDLE_MINUTES} minutes without a row`, async () => {
      await makeTables('idle')
      await write('idle')
      const { id } = await start('idle', 'spark', { trigger_interval: '20 s' })
      await expectCopied('idle')
      const { query_id: query } = await status(id)
      const rewrite = { table: 'p.idle_sink', engine: 'spark', rewrite_all: true }
      expect((await service.post('/api/compact', rewrite)).status).toBe(200)
      await sleep(IDLE_MINUTES * 60_000)
      expect(await status(id)).toMatchObject({ state: 'running', error: null, query_id: query })
      await write('idle')
      await expectCopied('idle')
      const compacted = await service.post('/api/compact', rewrite)
      expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
      expect(await compare('idle')).toMatchObject({ rows: 40, missing: 0, doubled: 0 })
      await stop(id)
    })

    it('moves between the engines on one checkpoint', async () => {
      await makeTables('b')
      await write('b')
      let id = ''
      for (const engine of ['embedded', 'spark', 'embedded', 'spark']) {
        await write('b')
        ;({ id } = await start('b', engine, { max_files_per_batch: 1 }))
        await expectCopied('b')
        await write('b')
        await expectCopied('b')
        expect((await status(id)).engine).toBe(engine)
        await stop(id)
      }
    })

    it('refuses rows with a column that the source dropped, which the embedded engine copies with their values', async () => {
      await makeTables('dropped')
      await write('dropped')
      const { id } = await start('dropped', 'spark')
      await expectCopied('dropped')
      await stop(id)
      const names = async () =>
        (await sparkSql('SELECT id, name FROM house.p.dropped_sink WHERE name IS NOT NULL')).map(({ id }) => id)
      await write('dropped')
      const written = await sparkSql('SELECT id FROM house.p.dropped WHERE name IS NOT NULL')
      await sparkSql('ALTER TABLE house.p.dropped DROP COLUMN name')
      const refused = await request('dropped', 'spark')
      expect(refused.status).toBe(422)
      expect(JSON.stringify(refused.body)).toMatch(/"path":"engine".*p\.dropped has dropped the column name/)
      expect((await start('dropped', 'embedded')).id).toBe(id)
      await soon('the embedded engine', async () => (await names()).length === written.length)
      await stop(id)
      expect((await start('dropped', 'spark')).id).toBe(id)
      await sparkSql('INSERT INTO house.p.dropped SELECT * FROM house.p.dropped LIMIT 1')
      await soon(
        'the row without a name',
        async () => (await sparkSql('SELECT id FROM house.p.dropped_sink')).length === 41,
      )
      expect(new Set(await names())).toEqual(new Set(written.map((row) => row['id'])))
      await stop(id)
    })

    it('is adopted after the service was killed, and the query does not start again', async () => {
      await makeTables('c')
      await write('c')
      const { id } = await start('c', 'spark')
      await expectCopied('c')
      const batches: number[] = []
      for (let crash = 0; crash < CRASHES; crash += 1) {
        await sleep(Math.random() * 1500)
        await service.kill()
        await write('c')
        service = await startService()
        await soon('running', async () => (await status(id)).state === 'running')
        await expectCopied('c')
        batches.push((await status(id)).last_progress?.batch_id ?? -1)
      }
      await stop(id)
      await expectCopied('c')
      expect(batches).toEqual(batches.toSorted((one, other) => one - other))
    })

    it('starts again from its checkpoint after Spark was killed', async () => {
      await makeTables('d')
      await write('d')
      const { id } = await start('d', 'spark')
      await expectCopied('d')
      for (let crash = 0; crash < SPARK_CRASHES; crash += 1) {
        await write('d')
        await sleep(Math.random() * 1500)
        await spark.stop('SIGKILL')
        const degraded = await soon('degraded', async () => {
          const pipeline = await status(id)
          return pipeline.state === 'degraded' && pipeline
        })
        expect(degraded.error?.code).toBe('SPARK_UNREACHABLE')
        await write('d')
        await startSpark(spark.port)
        await expectCopied('d')
        await soon('running', async () => (await status(id)).state === 'running')
      }
      await stop(id)
      await expectCopied('d')
    })

    it('is not stopped while nobody can tell whether its query runs', async () => {
      await makeTables('e')
      await write('e')
      const { id } = await start('e', 'spark')
      await expectCopied('e')
      await spark.stop('SIGKILL')
      const stopping = await service.post(`/api/pipeline/${id}/stop`, {})
      expect(stopping.body['pipeline']).toMatchObject({ state: 'stopping', error: { code: 'SPARK_UNREACHABLE' } })
      expect((await request('e', 'embedded')).status).toBe(409)
      await startSpark(spark.port)
      await soon('the stop', async () => (await status(id)).state === 'stopped')
      await write('e')
      await start('e', 'embedded')
      await expectCopied('e')
      await stop(id)
    })

    /** A filter, a select and a query over two tables, in one union. */
    async function startGraph(version: string, engine: string): Promise<string> {
      const answer = await service.post('/api/pipeline/start', {
        version_id: version,
        checkpoint_location: `${folder}/warehouse/checkpoints/${version}`,
        trigger_interval: '200 ms',
        engine,
      })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return (answer.body['pipeline'] as Pipeline).id
    }

    it('runs a graph over two tables, which moves between the engines and survives a kill', async () => {
      for (const name of ['g', 'g_other', 'g_sink']) await python.change(`p.${name}`, 'create')
      const version = await defineGraph(service, {
        condition: 'part <> 1 OR part IS NULL',
        query:
          'SELECT id + 1000000 AS id, CASE WHEN part = 0 THEN NULL ELSE part END AS part, ' +
          "'o' || name AS name FROM input WHERE id % 2 = 0",
      })
      let id = ''
      for (const engine of ['embedded', 'spark', 'embedded']) {
        await write('g')
        id = await startGraph(version, engine)
        await expectGraph()
        await write('g_other')
        // a batch of which the filter keeps no row
        await python.change('p.g', 'append', { first: 1, count: 1 })
        if (engine === 'spark') {
          await service.kill()
          await write('g')
          service = await startService()
          await soon('running', async () => (await status(id)).state === 'running')
        }
        await write('g_other')
        await expectGraph()
        expect((await status(id)).engine).toBe(engine)
        const ends = (await status(id)).last_progress?.sources.map(({ end_offset: end }) => end?.snapshot_id)
        for (const [at, table] of ['g', 'g_other'].entries()) {
          const known = await sparkSql(`SELECT snapshot_id FROM house.p.${table}.snapshots`)
          expect(known.map((row) => String(row['snapshot_id']))).toContain(ends?.[at])
        }
        await stop(id)
      }
    })

    /** Until PyIceberg reads exactly the rows that the graph makes of its tables. */
    async function expectGraph(): Promise<void> {
      const rowsOfTable = async (name: string) => (await python.change(`p.${name}`, 'rows')).rows
      const kept = (await rowsOfTable('g')).filter(({ part }) => part !== 1)
      const other = (await rowsOfTable('g_other')).filter((row) => row.id % 2 === 0)
      const wanted = sortedRows([
        ...kept.map(({ id, part, name }) => ({ id, part, name: `${name}!` })),
        ...other.map(({ id, part, name }) => ({
          id: id + 1_000_000,
          part: part === 0 ? null : part,
          name: `o${name}`,
        })),
      ])
      await soon(`${wanted.length} rows of the graph`, async () => {
        await sleep(500)
        return (await rowsOfTable('g_sink')).length >= wanted.length
      })
      expect(sortedRows((await rowsOfTable('g_sink')).map((row) => ({ ...row })))).toEqual(wanted)
    }

    it('checks rows alike in both engines: rows are dropped once, and a failing row stops the pipeline without a commit', async () => {
      for (const name of ['h', 'h_sink']) await python.change(`p.${name}`, 'create')
      const expectations = [
        { name: 'part', condition: 'part <> 1', on_failure: 'drop' },
        { name: 'small id', condition: 'id < 900000000', on_failure: 'fail' },
      ]
      const version = await defineVersion(
        service,
        [
          { id: 'rows', type: 'iceberg-source', config: { table: 'p.h' } },
          { id: 'tested', type: 'check', config: { expectations } },
          { id: 'sink', type: 'iceberg-sink', config: { table: 'p.h_sink' } },
        ],
        ['rows>tested', 'tested>sink'],
      )
      const sinkRows = async () => sortedRows((await python.change('p.h_sink', 'rows')).rows.map((row) => ({ ...row })))
      const keptRows = async () =>
        sortedRows(
          (await python.change('p.h', 'rows')).rows
            .filter(({ part }) => part !== null && part !== 1)
            .map((row) => ({ ...row })),
        )
      let id = ''
      for (const engine of ['embedded', 'spark', 'embedded', 'spark']) {
        await write('h')
        id = await startGraph(version, engine)
        await write('h')
        const wanted = await keptRows()
        await soon(`${wanted.length} checked rows on ${engine}`, async () => {
          await sleep(500)
          return (await sinkRows()).length >= wanted.length
        })
        expect(await sinkRows()).toEqual(wanted)
        expect((await status(id)).engine).toBe(engine)
        await stop(id)
      }
      const before = await sinkRows()
      await python.change('p.h', 'append', { first: 900_000_000, count: 3 })
      for (const engine of ['spark', 'embedded']) {
        await startGraph(version, engine)
        const failed = await soon(`the failure on ${engine}`, async () => {
          const pipeline = await status(id)
          return pipeline.state === 'failed' && pipeline.engine === engine && pipeline
        })
        expect(failed.error).toMatchObject({ code: 'CHECK_FAILED' })
        expect(failed.error?.message).toMatch(/node tested: .*"small id".*Nothing of the batch was committed/)
        expect(await sinkRows()).toEqual(before)
      }
    })

    it.each([
      ['lookup', /node q: a lookup reads p.h as it is when the batch starts/],
      ['deduplicate', /node q: deduplicate compares the rows of each batch/],
    ])('refuses a graph with a node of type %s, and names the node', async (type, reason) => {
      for (const name of ['i', 'i_sink', 'i_other']) await python.change(`p.${name}`, 'create').catch(() => undefined)
      const config =
        type === 'deduplicate'
          ? { key: ['id'] }
          : {
              table: 'p.i_other',
              on: [{ column: 'id', lookup_column: 'id' }],
              columns: [{ column: 'part', name: 'other' }],
            }
      const version = await defineVersion(
        service,
        [
          { id: 'rows', type: 'iceberg-source', config: { table: 'p.i' } },
          { id: 'q', type, config },
          { id: 'only', type: 'select', config: { columns: [{ name: 'id' }, { name: 'part' }, { name: 'name' }] } },
          { id: 'sink', type: 'iceberg-sink', config: { table: 'p.i_sink' } },
        ],
        ['rows>q', 'q>only', 'only>sink'],
      )
      const refused = await service.post('/api/pipeline/start', {
        version_id: version,
        checkpoint_location: `${folder}/warehouse/checkpoints/${version}`,
        trigger_interval: '1 s',
        engine: 'spark',
      })
      expect(refused.status).toBe(422)
      expect(JSON.stringify(refused.body)).toMatch(
        new RegExp(`"path":"engine".*${reason.source.replace('p.h', 'p.i_other')}`),
      )
    })

    it('refuses a graph that Spark may compute differently, and says why', async () => {
      const version = await defineGraph(service, { condition: "upper(name) <> 'X'", query: 'SELECT * FROM input' })
      const refused = await service.post('/api/pipeline/start', {
        version_id: version,
        checkpoint_location: `${folder}/warehouse/checkpoints/${version}`,
        trigger_interval: '1 s',
        engine: 'spark',
      })
      expect(refused.status).toBe(422)
      expect(JSON.stringify(refused.body)).toMatch(
        /"path":"engine".*node keep: Spark may compute upper\(\) differently/,
      )
    })

    it('refuses what Spark cannot read, before anything starts', async () => {
      await makeTables('f')
      await write('f')
      await python.change('p.f', 'delete', { where: 'id % 2 = 0' }).catch(() => undefined)
      await python.change('p.f', 'overwrite', { first: next, count: 10 })
      const refused = await request('f', 'spark')
      expect(refused.status).toBe(422)
      expect(JSON.stringify(refused.body)).toMatch(/"path":"engine".*engine \\"embedded\\"/)
    })
  },
)

/** A version of a graph over `p.g` and `p.g_other`; returns its id. */
async function defineGraph(
  service: Service,
  sql: { readonly condition: string; readonly query: string },
): Promise<string> {
  const columns = [{ name: 'id' }, { name: 'part' }, { name: 'name', expression: "name || '!'" }]
  const nodes = [
    { id: 'one', type: 'iceberg-source', config: { table: 'p.g' } },
    { id: 'keep', type: 'filter', config: { condition: sql.condition } },
    { id: 'mark', type: 'select', config: { columns } },
    { id: 'two', type: 'iceberg-source', config: { table: 'p.g_other' } },
    { id: 'query', type: 'sql', config: { query: sql.query } },
    { id: 'all', type: 'union', config: {} },
    { id: 'sink', type: 'iceberg-sink', config: { table: 'p.g_sink' } },
  ]
  return defineVersion(service, nodes, ['one>keep', 'keep>mark', 'two>query', 'mark>all', 'query>all', 'all>sink'])
}

/** A version of a graph with edges such as `source>sink`; returns its id. */
async function defineVersion(service: Service, nodes: readonly object[], between: readonly string[]): Promise<string> {
  const edges = between.map((edge) => {
    const [source, target] = edge.split('>')
    return { id: edge, source, target }
  })
  const answer = await service.post('/api/pipeline-defs', { name: `graph ${crypto.randomUUID()}`, nodes, edges })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return (answer.body['version'] as { readonly id: string }).id
}
