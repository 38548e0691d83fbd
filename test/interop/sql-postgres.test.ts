import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { Relay, type Verdict } from '../support/network/relay.ts'
import { type Place, postgresPlace, postgresServer } from '../storage/open.ts'
import type { Health, SchemaAnswer } from './harness/answers.ts'
import { pyicebergAvailable } from './harness/environment.ts'
import { PyIceberg, type TableAnswer } from './harness/pyiceberg.ts'
import { type CatalogSettings, Service } from './harness/service.ts'
import { later, until } from '../support/waiting.ts'

const available = pyicebergAvailable('PostgreSQL catalogs with PyIceberg') && postgresServer !== undefined

const ids = ({ rows }: TableAnswer): number[] => rows.map(({ id }) => id)
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

describe.skipIf(!available).each(['V1', 'V0'])(
  'a catalog in PostgreSQL (%s) that PyIceberg and the service share',
  { timeout: 300_000 },
  (version) => {
    const folder = available ? mkdtempSync(join(tmpdir(), 'postgres-pyiceberg-')) : ''
    let database: Place
    let settings: CatalogSettings
    let python: PyIceberg
    let service: Service

    beforeAll(async () => {
      mkdirSync(`${folder}/warehouse`)
      database = await postgresPlace()
      if (version === 'V0') for (const statement of V0_TABLES.split(';')) await run(statement)
      const url = new URL(database.place)
      url.searchParams.set('application_name', 'shared')
      const uri = url.href.replace(/^postgres:/, 'postgresql+psycopg2:')
      settings = { catalog_type: 'sql', catalog_name: 'house', warehouse: `file://${folder}/warehouse`, uri }
      python = new PyIceberg(settings)
      await python.change('p.theirs', 'create', { partitioned: true })
      service = await Service.start({ home: `${folder}/home` })
      await service.configure(settings)
    }, 300_000)

    afterAll(async () => {
      python?.stop()
      await service?.stop()
      await database?.remove()
      rmSync(folder, { recursive: true, force: true })
    })

    async function run(statement: string): Promise<readonly unknown[]> {
      const db = new Kysely({ dialect: postgresDialect(database.place) })
      const { rows } = await sql.raw(statement).execute(db)
      await db.destroy()
      return rows
    }

    async function untilRows(table: string, count: number): Promise<TableAnswer> {
      const read = async (): Promise<TableAnswer | undefined> => {
        const answer = await python.change(table, 'rows').catch(() => undefined)
        return answer !== undefined && answer.rows.length >= count ? answer : undefined
      }
      return await until(read, () => `${count} rows in ${table}\n${service.log}`, 60_000)
    }

    const start = (name: string, source: string): Promise<Record<string, unknown>> =>
      service
        .post('/api/pipeline/start', {
          source_table: source,
          sink_table: `p.${name}`,
          checkpoint_location: `${folder}/warehouse/checkpoints/${name}`,
          trigger_interval: '100 ms',
          create_sink_table: true,
        })
        .then(({ body }) => body)

    it('keeps the rows of a table created by PyIceberg through compaction, expiry and column changes', async () => {
      for (let at = 0; at < 6; at++) await python.change('p.theirs', 'append', { first: at * 10, count: 10 })
      await python.change('p.theirs', 'delete', { where: 'id < 5' })
      const before = await python.change('p.theirs', 'rows')
      const { tables } = await service.read<{ tables: { table: string }[] }>('/api/tables')
      expect(tables.map(({ table }) => table)).toEqual(['p.theirs'])

      const { details } = await service.operate('/api/compact', { table: 'p.theirs', min_input_files: 2 })
      expect(Number(details['rewritten_data_files_count'])).toBeGreaterThan(3)
      const compacted = await python.change('p.theirs', 'rows')
      expect(compacted.rows).toEqual(before.rows)
      expect(compacted.operations).toEqual([...before.operations, 'replace'])
      expect(await service.read<Health>('/api/table/p.theirs/health')).toMatchObject({ data_file_count: 3 })

      await service.operate('/api/expire', { table: 'p.theirs', older_than: new Date().toISOString(), retain_last: 1 })
      expect(await python.change('p.theirs', 'rows')).toEqual({ rows: before.rows, operations: ['replace'] })

      await service.operate('/api/evolve/add-column', { table: 'p.theirs', name: 'note', type: 'STRING' })
      await service.operate('/api/evolve/rename-column', { table: 'p.theirs', name: 'name', new_name: 'title' })
      const evolved = await python.change('p.theirs', 'append', { first: 100, count: 3 })
      expect(evolved.rows).toEqual([
        ...before.rows.map(({ id, part, name }) => ({ id, part, title: name, note: null })),
        ...range(100, 103).map((id) => ({ id, part: id % 3, title: `n${id}`, note: `n${id}` })),
      ])
      await python.change('p.theirs', 'drop_column')
      const schema = await service.read<SchemaAnswer>('/api/table/p.theirs/schema')
      expect(schema.columns.map(({ name }) => name)).toEqual(['id', 'part', 'title'])
      await service.operate('/api/evolve/drop-column', { table: 'p.theirs', name: 'title' })
      expect((await python.change('p.theirs', 'rows')).rows.at(-1)).toEqual({ id: 102, part: 0 })
    })

    it('runs a pipeline into a table that the service creates and PyIceberg continues to write', async () => {
      await python.change('p.source', 'create')
      await python.change('p.source', 'append', { first: 0, count: 20 })
      const { pipeline } = await start('sink', 'p.source')
      expect(await untilRows('p.sink', 20)).toMatchObject({ operations: ['append'] })
      await python.change('p.source', 'append', { first: 20, count: 20 })
      expect(ids(await untilRows('p.sink', 40))).toEqual(range(0, 40))
      await python.change('p.sink', 'append', { first: 1000, count: 5 })
      await python.change('p.source', 'append', { first: 40, count: 10 })
      expect(ids(await untilRows('p.sink', 55))).toEqual([...range(0, 50), ...range(1000, 1005)])
      const { id } = pipeline as { readonly id: string }
      expect(await service.read(`/api/pipeline/${id}/status`)).toMatchObject({
        pipeline: { state: 'running', error: null },
      })
      await service.operate('/api/compact', { table: 'p.sink', min_input_files: 2 })
      expect(ids(await python.change('p.sink', 'rows'))).toEqual([...range(0, 50), ...range(1000, 1005)])
      await service.post(`/api/pipeline/${id}/stop`, {})
    })

    it('loses no row when both commit at the same time', async () => {
      await python.change('p.both', 'create')
      await python.change('p.both', 'append', { first: 0, count: 10 })
      let appended = 10
      let isOver = false
      const theirs = async (): Promise<void> => {
        for (let round = 0; round < 15; round++) {
          const change = await python.change('p.both', 'append', { first: appended, count: 10 }).catch(() => undefined)
          if (change !== undefined) appended += 10
        }
        isOver = true
      }
      const outcomes: number[] = []
      const ours = async (): Promise<void> => {
        while (!isOver) {
          outcomes.push((await service.post('/api/compact', { table: 'p.both', min_input_files: 2 })).status)
        }
      }
      await Promise.all([theirs(), ours()])
      expect(outcomes.filter((status) => status !== 409)).toContain(200)
      expect(outcomes.every((status) => status === 200 || status === 409)).toBe(true)
      expect(ids(await python.change('p.both', 'rows'))).toEqual(range(0, appended))
    })

    it('streams every row once, and loses none, while its connections are closed during commits', async () => {
      const direct = new URL(database.place)
      const relay = await Relay.start({ host: direct.hostname, port: Number(direct.port) })
      const uri = settings.uri?.replace(`:${direct.port}/`, `:${relay.port}/`)
      await service.configure({ ...settings, ...(uri !== undefined && { uri }) })
      await python.change('p.cut', 'create')
      await python.change('p.cut', 'append', { first: 0, count: 10 })
      const { pipeline } = await start('cut_sink', 'p.cut')
      await untilRows('p.cut_sink', 10)
      const faults: readonly Verdict[] = ['cut', 'cut after', 'late', 'pass', 'pass']
      let swaps = 0
      relay.judge = (piece) => {
        if (!piece.includes('update "iceberg_tables"')) return 'pass'
        later(300, () => relay.deliver())
        return faults[swaps++ % faults.length] ?? 'pass'
      }
      const outcomes = new Set<number>()
      for (let at = 1; at < 12; at++) {
        await python.change('p.cut', 'append', { first: at * 10, count: 10 })
        outcomes.add((await service.post('/api/compact', { table: 'p.cut', min_input_files: 2 })).status)
        outcomes.add((await service.post('/api/compact', { table: 'p.cut_sink', min_input_files: 2 })).status)
      }
      expect(ids(await untilRows('p.cut_sink', 120))).toEqual(range(0, 120))
      expect(ids(await python.change('p.cut', 'rows'))).toEqual(range(0, 120))
      expect(swaps).toBeGreaterThan(faults.length * 2)
      for (const status of outcomes) expect([200, 409, 503]).toContain(status)
      relay.judge = () => 'pass'
      const { id } = pipeline as { readonly id: string }
      await service.post(`/api/pipeline/${id}/stop`, {})
      await service.stop()
      service = await Service.start({ home: `${folder}/home` }) // resolves unknown outcomes
      expect(ids(await python.change('p.cut_sink', 'rows'))).toEqual(range(0, 120))
      expect(ids(await python.change('p.cut', 'rows'))).toEqual(range(0, 120))
      await relay.close()
      const away = await service.get('/api/table/p.cut/schema')
      expect(away).toMatchObject({ status: 503, body: { code: 'IO_FAILED' } })
      expect(await service.read('/api/health')).toMatchObject({ status: 'degraded' })
      await service.configure(settings)
      await service.read('/api/table/p.cut/schema')
    })

    it('has rows that other clients understand, in unaltered tables', async () => {
      const columns = `select column_name from information_schema.columns where table_name = 'iceberg_tables'`
      const types = (await run(columns)).filter((row) => JSON.stringify(row).includes('iceberg_type'))
      expect(types).toHaveLength(version === 'V1' ? 1 : 0)
      if (version === 'V1') {
        const kinds = `select distinct iceberg_type from iceberg_tables order by 1`
        expect(await run(kinds)).toEqual([{ iceberg_type: 'TABLE' }])
      }
      expect(JSON.stringify(await service.read('/api/config'))).toContain('postgresql+psycopg2://')
    })
  },
)

/** The tables of the version before views: PyIceberg uses them unchanged when both exist. */
const V0_TABLES = `create table iceberg_tables (
    catalog_name varchar(255) not null, table_namespace varchar(255) not null, table_name varchar(255) not null,
    metadata_location varchar(1000), previous_metadata_location varchar(1000),
    primary key (catalog_name, table_namespace, table_name));
  create table iceberg_namespace_properties (
    catalog_name varchar(255) not null, namespace varchar(255) not null, property_key varchar(255) not null,
    property_value varchar(1000) not null, primary key (catalog_name, namespace, property_key))`
