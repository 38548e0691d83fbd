import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { newDataLocation } from '../../../src/iceberg/metadata/locations.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { Type } from '../../../src/iceberg/schema/types.ts'
import type { z } from 'zod'
import type { tableStatistics } from '../../../src/schemas/tables/statistics.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import { deleteRow, openLab, type StreamLab } from '../../streaming/support.ts'
import { actor, type Actor } from '../../support/lifecycle.ts'

type TableStatistics = z.infer<typeof tableStatistics>

let lab: StreamLab
let engineer: Actor
beforeAll(async () => {
  lab = await openLab()
  engineer = await actor(lab.service, 'ed', 'DataEngineer')
})
afterAll(() => lab.close())

const call = (table: string, query = 'profile=true') => engineer.call('GET', `/api/table/${table}/statistics?${query}`)

async function profile(table: string) {
  const { status, body } = await call(table)
  expect(status, JSON.stringify(body)).toBe(200)
  const byPath = Object.fromEntries(
    body.columns.map(({ path, profile: found }: TableStatistics['columns'][number]) => [path, found]),
  )
  return { facts: body.profile, byPath, body }
}

/** Deletes all rows with an id by an equality delete. */
async function deleteByKey(name: string, id: number): Promise<void> {
  const { io, metadata, identifier } = await lab.load(name)
  const files = await lab.engine.append({
    io,
    query: `SELECT ${id}::BIGINT AS c1`,
    output: {
      schema: {
        schemaId: 0,
        identifierFieldIds: [],
        fields: [{ id: 1, name: 'id', required: false, type: { kind: 'long' } }],
      },
      partitionSpec: { specId: 0, fields: [] },
      formatVersion: 2,
      targetFileSizeBytes: 2 ** 20,
      properties: {},
      newDataLocation: () => newDataLocation(metadata, '', `keys-${randomUUID()}.parquet`),
    },
  })
  const deleteFiles = files.map((file) => ({ ...file, content: 'equality-deletes' as const, equalityIds: [1] }))
  await commitTable(lab.catalog(), identifier, (fresh) =>
    stageRowDelta(fresh, { dataFiles: [], deleteFiles, operationId: `keys-${randomUUID()}` }),
  )
}

describe('GET /api/table/{table}/statistics?profile=true', () => {
  it('measures all rows of a small table exactly', async () => {
    await lab.createTable('s.orders', [
      ['id', 'long'],
      ['name', 'string'],
      ['total', { kind: 'decimal', precision: 20, scale: 2 }],
      ['ratio', 'double'],
      ['small', 'float'],
      ['paid', 'boolean'],
      ['day', 'date'],
      ['at', 'timestamptz'],
      ['key', 'binary'],
    ])
    await lab.append(
      's.orders',
      `SELECT 9007199254740993 + i AS c1, CASE WHEN i < 4 THEN 'ü€😀' WHEN i < 8 THEN NULL ELSE 'n' || i END AS c2,
       (i - 5)::DECIMAL(20,2) / 100 AS c3, CASE i WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE ELSE i / 4 END AS c4,
       0.1::FLOAT AS c5, i % 2 = 0 AS c6, DATE '1969-12-30' + i::INT AS c7,
       TIMESTAMPTZ '2026-01-02 03:04:05.000006+00' + to_seconds(i) AS c8, encode('k' || i) AS c9 FROM range(0, 10) t(i)`,
    )
    const { facts, byPath, body } = await profile('s.orders')
    expect(facts).toMatchObject({
      sampled_rows: 10,
      total_rows: 10,
      sampled_files: 1,
      total_files: 1,
      is_complete: true,
      snapshot_id: body.snapshot_id,
      rule: 'all rows of 1 data file',
    })
    expect(byPath['id']).toMatchObject({
      nulls_ratio: 0,
      distinct_count: 10,
      distinct_estimate: 10,
      min: '9007199254740993',
      max: '9007199254741002',
      quantiles: { p25: '9007199254740995', p50: '9007199254740997', p75: '9007199254741000' },
      lengths: null,
    })
    expect(byPath['name']).toMatchObject({
      nulls_ratio: 0.4,
      distinct_count: 3,
      min: 'n8',
      max: 'ü€😀',
      quantiles: null,
      lengths: { min: 2, max: 3 },
    })
    expect(byPath['name'].top_values).toEqual([
      { value: 'ü€😀', count: 4 },
      { value: 'n8', count: 1 },
      { value: 'n9', count: 1 },
    ])
    expect(byPath['total']).toMatchObject({ min: '-0.05', max: '0.04', quantiles: { p50: '-0.01' } })
    expect(byPath['ratio']).toMatchObject({ min: '0.5', max: 'Infinity', distinct_count: 10 })
    expect(byPath['ratio'].top_values).toContainEqual({ value: 'NaN', count: 1 })
    expect(byPath['small']).toMatchObject({ min: '0.1', top_values: [{ value: '0.1', count: 10 }] })
    expect(byPath['paid']).toMatchObject({ min: 'false', max: 'true', quantiles: null })
    expect(byPath['day']).toMatchObject({ min: '1969-12-30', max: '1970-01-08', quantiles: null })
    // as the bounds of the manifests show them
    const at = body.columns.find(({ path }: TableStatistics['columns'][number]) => path === 'at')
    expect([byPath['at'].min, byPath['at'].max]).toEqual([at.lower, at.upper])
    expect(byPath['key']).toMatchObject({ min: '6b30', max: '6b39', lengths: null })
  })

  it('counts no deleted row, by position, key or vector', async () => {
    await lab.createTable('s.deleted', [['id', 'long']], { formatVersion: 3 })
    await lab.append('s.deleted', 'SELECT i AS c1 FROM range(0, 10) t(i)')
    await deleteByKey('s.deleted', 9)
    const byKey = await profile('s.deleted')
    expect(byKey.facts).toMatchObject({ sampled_rows: 9, total_rows: 10, is_complete: true })
    expect(byKey.byPath['id']).toMatchObject({ max: '8', distinct_count: 9, distinct_estimate: 9 })
    const { status } = await engineer.call('POST', '/api/convert-deletes', { table: 's.deleted' })
    expect(status).toBe(200)
    const [task] = await planFiles(await lab.load('s.deleted'))
    expect(task?.deletes).toMatchObject([{ file: { fileFormat: 'puffin' } }])
    expect((await profile('s.deleted')).byPath['id']).toEqual(byKey.byPath['id'])
    await lab.createTable('s.positions', [['id', 'long']])
    await lab.append('s.positions', 'SELECT i AS c1 FROM range(0, 3) t(i)')
    await deleteRow(lab, 's.positions', 0)
    expect((await profile('s.positions')).byPath['id']).toMatchObject({ min: '1', distinct_count: 2 })
    await deleteRow(lab, 's.positions', 1)
    await deleteRow(lab, 's.positions', 2)
    const none = await profile('s.positions')
    expect(none.facts).toMatchObject({ sampled_rows: 0, total_rows: 3, is_complete: true })
    expect(none.byPath['id']).toMatchObject({ nulls_ratio: null, distinct_count: 0, min: null, top_values: [] })
  })

  it('answers for a table without rows', async () => {
    await lab.createTable('s.empty', [['id', 'long']])
    const { facts, byPath } = await profile('s.empty')
    expect(facts).toMatchObject({ sampled_rows: 0, sampled_files: 0, snapshot_id: null, is_complete: true })
    expect(byPath['id']).toMatchObject({ nulls_ratio: null, min: null, quantiles: null })
  })

  it('measures members of structs, and says nothing about lists and maps', async () => {
    const address: Type = {
      kind: 'struct',
      fields: [
        { id: 10, name: 'ci\'ty"', required: false, type: { kind: 'string' } },
        { id: 11, name: 'CI\'TY"', required: false, type: { kind: 'int' } },
      ],
    }
    await lab.createTable('s.nested', [
      ['address', address],
      ['tags', { kind: 'list', elementId: 20, elementRequired: false, element: { kind: 'string' } }],
      ['id', 'long'],
    ])
    await lab.append('s.nested', "SELECT NULL AS c1, ['x'] AS c2, i AS c3 FROM range(0, 3) t(i)")
    const { byPath } = await profile('s.nested')
    expect(byPath['address.ci\'ty"']).toMatchObject({ nulls_ratio: 1, min: null, lengths: null })
    expect(byPath['address.CI\'TY"']).toMatchObject({ nulls_ratio: 1, distinct_count: 0, quantiles: null })
    expect(byPath['tags.element']).toBeNull()
    expect(byPath['id']).toMatchObject({ max: '2' })
  })

  it('measures the extremes of types as the bounds show them', async () => {
    await lab.createTable('s.extremes', [
      ['id', 'long'],
      ['wide', { kind: 'decimal', precision: 38, scale: 38 }],
      ['key', 'uuid'],
      ['clock', 'time'],
      ['at', 'timestamp'],
      ['day', 'date'],
      ['bytes', { kind: 'fixed', length: 2 }],
      ['text', 'string'],
      ['float', 'float'],
    ])
    await lab.append(
      's.extremes',
      `SELECT * FROM (VALUES
        ((-9223372036854775808)::BIGINT, '-0.99999999999999999999999999999999999999'::DECIMAL(38,38), '00000000-0000-0000-0000-000000000000'::UUID,
         TIME '00:00:00', TIMESTAMP '0001-01-01 00:00:00', DATE '0001-01-01', '\\x00\\xFF'::BLOB, '', (-3.4028235e38)::FLOAT),
        (9223372036854775807, '0.99999999999999999999999999999999999999'::DECIMAL(38,38), 'ffffffff-ffff-ffff-ffff-ffffffffffff',
         TIME '23:59:59.999999', TIMESTAMP '9999-12-31 23:59:59.999999', DATE '9999-12-31', '\\xFF\\x00', chr(0) || 'a', 1e-45)
      ) t(c1, c2, c3, c4, c5, c6, c7, c8, c9)`,
    )
    const { byPath, body } = await profile('s.extremes')
    expect(byPath['id']).toMatchObject({ min: '-9223372036854775808', max: '9223372036854775807' })
    const wide = '0.99999999999999999999999999999999999999'
    expect(byPath['wide']).toMatchObject({ min: `-${wide}`, max: wide })
    for (const { path, lower, upper } of body.columns) {
      if (path !== 'text' && lower !== null)
        expect([path, byPath[path].min, byPath[path].max]).toEqual([path, lower, upper])
    }
    expect(byPath['text']).toMatchObject({ min: '', max: '\0a', lengths: { min: 0, max: 2 }, distinct_count: 2 })
  })

  it('counts dates and times as values that the engine takes for infinite', async () => {
    await lab.createTable('s.infinite', [
      ['day', 'date'],
      ['at', 'timestamp'],
    ])
    await lab.append(
      's.infinite',
      "SELECT * FROM (VALUES ('infinity'::DATE, '-infinity'::TIMESTAMP), (DATE '2026-01-01', NULL)) t(c1, c2)",
    )
    const { byPath } = await profile('s.infinite')
    expect(byPath['day']).toMatchObject({ nulls_ratio: 0, min: '2026-01-01', distinct_count: 2 })
    expect(byPath['at']).toMatchObject({ nulls_ratio: 0.5, distinct_count: 1 })
    expect(byPath['at'].min).toMatch(/^-290308-12-21T/)
  })

  it('cuts long values and counts values apart that begin alike', async () => {
    await lab.createTable('s.long', [['text', 'string']])
    await lab.append('s.long', "SELECT repeat('😀', 5000) || i AS c1 FROM range(0, 20) t(i)")
    const found = (await profile('s.long')).byPath['text']
    expect(found).toMatchObject({ distinct_count: 20, lengths: { min: 5001, max: 5002 }, min: `${'😀'.repeat(100)}…` })
    expect(found.top_values).toHaveLength(10)
    expect(found.top_values[0]).toEqual({ value: `${'😀'.repeat(100)}…`, count: 1 })
  })

  it('measures a share of a table with many rows, and says so', async () => {
    await lab.createTable('s.large', [
      ['id', 'long'],
      ['kind', 'string'],
    ])
    await lab.append(
      's.large',
      ...[0, 1, 2].map((n) => `SELECT i + ${n * 100_000} AS c1, 'k' || i % 3 AS c2 FROM range(100000) t(i)`),
    )
    const { facts, byPath } = await profile('s.large')
    expect(facts).toMatchObject({ total_rows: 300_000, sampled_files: 3, is_complete: false })
    expect(facts.rule).toBe('33 % of the rows of 3 data files, chosen at random')
    expect(facts.sampled_rows).toBeGreaterThan(90_000)
    expect(facts.sampled_rows).toBeLessThan(110_000)
    expect(byPath['kind']).toMatchObject({ distinct_count: 3, distinct_estimate: 3 })
    // every id is different, so that the sample suggests as many as the table has rows
    expect(byPath['id']).toMatchObject({ distinct_estimate: 300_000, distinct_count: facts.sampled_rows })
    expect(Number(byPath['id'].max)).toBeGreaterThan(299_000)
  })

  it('measures a table with 1,000 columns', async () => {
    const names = Array.from({ length: 1001 }, (_, at) => `column_${at}`)
    await lab.createTable(
      's.wide',
      names.map((name) => [name, 'int'] as const),
    )
    const values = names.map((_, at) => `(i + ${at})::INT AS c${at + 1}`)
    await lab.append('s.wide', `SELECT ${values.join(', ')} FROM range(0, 40) t(i)`)
    const { facts, byPath } = await profile('s.wide')
    expect(facts).toMatchObject({ sampled_rows: 40, is_complete: true })
    expect(byPath['column_999'].top_values).toHaveLength(10)
    expect(byPath['column_1000']).toBeNull()
  })

  it('fails with the name of a data file that is missing, and only when rows are read', async () => {
    await lab.createTable('s.broken', [['id', 'long']])
    await lab.append('s.broken', 'SELECT i AS c1 FROM range(0, 3) t(i)')
    const [task] = await planFiles(await lab.load('s.broken'))
    await rm(fileURLToPath(new URL(task?.dataFile.filePath ?? '')))
    const { status, body } = await call('s.broken')
    expect([status, body.code], JSON.stringify(body)).toEqual([422, 'FILE_NOT_FOUND'])
    expect((await call('s.broken', 'profile=false')).status).toBe(200)
  })

  it('stops when its caller is gone', async () => {
    await profile('s.orders')
    const stop = new AbortController()
    const caller = { user: 'ed', role: 'DataEngineer', via: 'token' } as const
    const asked = lab.service.context.app.tables.statistics('s.large', {
      isProfiled: true,
      context: { caller, requestId: 'req-1' },
      signal: stop.signal,
    })
    stop.abort()
    await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('is for engineers, refuses other parameters, and is kept in the audit log', async () => {
    const auditor = await actor(lab.service, 'amy', 'Auditor')
    expect((await auditor.call('GET', '/api/table/s.orders/statistics?profile=true')).status).toBe(403)
    expect((await call('s.orders', 'profile=yes')).status).toBe(400)
    expect((await call('s.orders', 'rows=1')).status).toBe(400)
    expect((await call('s.nothing')).status).toBe(404)
    await profile('s.orders')
    const { body } = await lab.service.get('/api/audit?action=table.query')
    expect(body[0]).toMatchObject({ actor: 'ed', object_id: 's.orders' })
    expect((await call('s.orders', '')).body.profile).toBeUndefined()
  })
})

describe('GET /api/table/{table}/file-bounds', () => {
  const bounds = (query: string, by: Actor = engineer) => by.call('GET', `/api/table/s.gone/file-bounds?${query}`)

  it('reads the manifests only', async () => {
    await lab.createTable('s.gone', [['id', 'long']])
    await lab.append('s.gone', ...[0, 5, 20].map((n) => `SELECT i AS c1 FROM range(${n}, ${n + 10}) t(i)`))
    for (const { dataFile } of await planFiles(await lab.load('s.gone'))) await rm(fileURLToPath(dataFile.filePath))
    const { status, body } = await bounds('column=id&limit=2')
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({
      layout: null,
      column: { id: 1, path: 'id', type: 'long' },
      data_file_count: 3,
      bounded_file_count: 3,
      lower: '0',
      upper: '29',
      left_out_count: 1,
    })
    expect(
      body.bars.map(({ lower, record_count: rows }: { lower: string; record_count: number }) => [lower, rows]),
    ).toEqual([
      ['0', 10],
      ['5', 10],
    ])
    expect(body.overlap.other_count).toBe(2)
    expect(body.overlap.overlap_count).toBeCloseTo(2 / 3)
    expect((await bounds('')).body).toMatchObject({ column: null, overlap: null, bars: [] })
  })

  it('is for engineers, and refuses other columns and limits', async () => {
    const auditor = await actor(lab.service, 'abe', 'Auditor')
    expect((await bounds('column=id', auditor)).status).toBe(403)
    expect((await bounds('column=nope')).status).toBe(404)
    expect((await bounds('column=id&limit=501')).status).toBe(400)
    expect((await call('s.nothing', '')).status).toBe(404)
  })
})
