import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { TableUpdate } from '../../../src/iceberg/update/table-update.ts'
import { runRollback } from '../../../src/maintenance/rollback.ts'
import { deleteRow, numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { actor, type Actor } from '../../support/lifecycle.ts'
import { overwrite } from './overwrite.ts'

let lab: StreamLab
let engineer: Actor
const ids: string[] = []
beforeAll(async () => {
  lab = await openLab()
  engineer = await actor(lab.service, 'ed', 'DataEngineer')
  await lab.createTable('s.orders', [
    ['id', 'long'],
    ['name', 'string'],
  ])
  const keep = (table: Table): void => void ids.push(String(table.metadata.currentSnapshotId))
  keep(await lab.append('s.orders', numbered(0, 4)))
  keep(await lab.append('s.orders', numbered(4, 6), numbered(6, 8)))
  await deleteRow(lab, 's.orders', 5)
  keep(await lab.load('s.orders'))
  await overwrite(lab, 's.orders', {
    queries: ["SELECT * FROM (VALUES (0, 'n0'), (1, 'new'), (9, 'n9'), (9, 'n9')) t(c1, c2)"],
  })
  keep(await lab.load('s.orders'))
})
afterAll(() => lab.close())

const changes = (query: string, table = 's.orders') => engineer.call('GET', `/api/table/${table}/changes?${query}`)
const range = (from: number, to: number): string => `from_snapshot_id=${ids[from]}&to_snapshot_id=${ids[to]}`
const columns = 'columns=id,name,_change_type'

async function commit(name: string, updates: readonly TableUpdate[]): Promise<void> {
  const { identifier } = await lab.load(name)
  await commitTable(lab.catalog(), identifier, async () => ({ requirements: [], updates, writtenFiles: [] }))
}

describe('GET /api/table/{table}/changes', () => {
  it('returns the rows of the current snapshot without ids', async () => {
    const { status, body } = await changes('')
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({
      columns: [
        { name: 'id', type: 'long' },
        { name: 'name', type: 'string' },
        { name: '_change_type', type: 'string' },
        { name: '_change_ordinal', type: 'int' },
        { name: '_commit_snapshot_id', type: 'long' },
      ],
      truncated: false,
      from_snapshot_id: ids[2],
      to_snapshot_id: ids[3],
      snapshot_count: 1,
      tables: [{ table: 's.orders', snapshot_id: ids[3] }],
    })
    expect(body.counts).toBeUndefined()
    // row 0 was copied to another file and did not change; row 5 was deleted before
    expect(body.rows.map(([id, , type]: unknown[]) => [id, type]).sort()).toEqual([
      ['1', 'delete'],
      ['1', 'insert'],
      ['2', 'delete'],
      ['3', 'delete'],
      ['4', 'delete'],
      ['6', 'delete'],
      ['7', 'delete'],
      ['9', 'insert'],
      ['9', 'insert'],
    ])
    expect(new Set(body.rows.map((row: unknown[]) => row[4]))).toEqual(new Set([ids[3]]))
  })

  it('returns appended and deleted rows in the order of their snapshots', async () => {
    const { body } = await changes(`${range(0, 2)}&counts=true`)
    expect(body.rows.slice(0, 4).sort()).toEqual(['4', '5', '6', '7'].map((id) => [id, `n${id}`, 'insert', 0, ids[1]]))
    expect(body.rows.slice(4)).toEqual([['5', 'n5', 'delete', 1, ids[2]]])
    expect(body.counts).toEqual({ insert: 4, delete: 1, update_before: 0, update_after: 0 })
    expect(body.read_bytes).toBe(body.planned_bytes)
  })

  it('finds updated rows by a key', async () => {
    const { body } = await changes(`key=id&${columns}&where=${encodeURIComponent('id < 3')}`)
    expect(body.rows).toEqual([
      ['1', 'n1', 'update_before'],
      ['1', 'new', 'update_after'],
      ['2', 'n2', 'delete'],
    ])
  })

  it('reads only the snapshots that the first rows need', async () => {
    const { body } = await changes(`${range(0, 3)}&limit=2`)
    expect(body.rows).toHaveLength(2)
    expect([body.truncated, body.rows[0][3]]).toEqual([true, 0])
    expect(body.read_bytes).toBeLessThan(body.planned_bytes)
    const counted = await changes(`${range(0, 3)}&limit=2&counts=true`)
    expect(counted.body.rows).toHaveLength(2)
    expect(counted.body.counts).toEqual({ insert: 7, delete: 7, update_before: 0, update_after: 0 })
    expect(counted.body.read_bytes).toBe(counted.body.planned_bytes)
  })

  it('reads all snapshots for a condition with a query over the changes', async () => {
    const where = encodeURIComponent('_change_ordinal = (SELECT max(_change_ordinal) FROM orders)')
    const { status, body } = await changes(`${range(0, 3)}&limit=1&where=${where}`)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.rows.map((row: unknown[]) => row[3])).toEqual([2])
    expect(body.read_bytes).toBe(body.planned_bytes)
    const counted = await changes(`${range(0, 3)}&limit=1&counts=true&where=${where}`)
    expect(counted.body).toMatchObject({ columns: body.columns, rows: body.rows })
    const all = await changes(`${range(0, 3)}&limit=100&where=${where}`)
    const found = Object.values(counted.body.counts as Record<string, number>).reduce((sum, kind) => sum + kind, 0)
    expect(found).toBe(all.body.rows.length)
  })

  it('tells what it would read without reading it', async () => {
    const { body } = await changes(`${range(0, 3)}&dry_run=true&counts=true`)
    expect(body).toMatchObject({ rows: [], read_bytes: 0, snapshot_count: 3 })
    expect(body.planned_files).toBe(5)
    expect(body.counts).toBeUndefined()
  })

  it('has no rows between a snapshot and itself', async () => {
    expect((await changes(range(2, 2))).body).toMatchObject({ rows: [], snapshot_count: 0, planned_files: 0 })
  })

  it('has no rows for a compaction', async () => {
    await lab.createTable('s.compacted', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    const first = await lab.append('s.compacted', numbered(0, 3))
    await lab.append('s.compacted', numbered(3, 6))
    const done = await engineer.call('POST', '/api/compact', { table: 's.compacted', min_input_files: 2 })
    expect(done.status, JSON.stringify(done.body)).toBe(200)
    expect((await changes('', 's.compacted')).body).toMatchObject({ rows: [], snapshot_count: 0 })
    const { body } = await changes(`from_snapshot_id=${first.metadata.currentSnapshotId}`, 's.compacted')
    expect(body.rows).toHaveLength(3)
  })

  it.each([
    ['from_snapshot_id=7', 404, 'NO_SUCH_SNAPSHOT', /no snapshot 7: it may have expired/],
    ['to_snapshot_id=7', 404, 'NO_SUCH_SNAPSHOT', /no snapshot 7/],
    ['key=nope', 404, 'NO_SUCH_COLUMN', /no top-level column nope/],
    ['columns=nope', 404, 'NO_SUCH_COLUMN', /no top-level column nope/],
    ['key=id&by_row_id=true', 400, 'INVALID_REQUEST', /one of key and by_row_id/],
    ['by_row_id=true', 422, 'UNPROCESSABLE', /need format version 3/],
    ['where=nope%20%3D%201', 400, 'INVALID_ARGUMENT', /nope/],
    [
      `where=${encodeURIComponent("id IN (SELECT 1 FROM read_text('/etc/passwd'))")}`,
      400,
      'INVALID_ARGUMENT',
      /read_text/,
    ],
    ['snapshot_id=1', 400, 'INVALID_REQUEST', /.+/],
  ])('refuses %s', async (query, status, code, detail) => {
    const { status: found, body } = await changes(query)
    expect([found, body.code]).toEqual([status, code])
    expect(JSON.stringify(body)).toMatch(detail)
  })

  it('says that snapshots are given in the wrong order', async () => {
    const { status, body } = await changes(range(2, 1))
    expect([status, body.code]).toEqual([422, 'NOT_AN_ANCESTOR'])
    expect(body.detail).toBe(`snapshot ${ids[2]} is newer than snapshot ${ids[1]}: exchange the two`)
  })

  it('refuses a key that several deleted rows of a snapshot have', async () => {
    await lab.createTable('s.twice', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.twice', "SELECT * FROM (VALUES (1, 'a'), (1, 'b'), (2, 'c')) t(c1, c2)")
    const snapshot = await overwrite(lab, 's.twice', { queries: ["SELECT 1 AS c1, 'd' AS c2"] })
    const { status, body } = await changes('key=id', 's.twice')
    expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT'])
    expect(body.detail).toContain(`the key id does not identify rows: snapshot ${snapshot} deletes several rows`)
    expect((await changes('key=id,name', 's.twice')).body.rows).toHaveLength(4)
  })

  it('is for engineers, and is kept in the audit log', async () => {
    const auditor = await actor(lab.service, 'amy', 'Auditor')
    expect((await auditor.call('GET', '/api/table/s.orders/changes')).status).toBe(403)
    await changes(range(0, 1))
    const { body } = await lab.service.get('/api/audit?action=table.query')
    expect(body[0]).toMatchObject({ actor: 'ed', object_id: 's.orders' })
    expect(JSON.stringify(body[0])).toContain(`"to":"${ids[1]}"`)
    expect(JSON.stringify(body[0])).not.toContain('n4')
  })

  it('says that a snapshot is not an ancestor after a rollback, and after expiry', async () => {
    await lab.createTable('s.rolled', [['id', 'long']])
    const seen: bigint[] = []
    for (const id of [1, 2, 3]) {
      const { metadata } = await lab.append('s.rolled', `SELECT ${id}::BIGINT AS c1`)
      seen.push(metadata.currentSnapshotId ?? 0n)
    }
    const [first = 0n, second = 0n, third = 0n] = seen
    await runRollback({ catalog: lab.catalog(), identifier: { namespace: ['s'], name: 'rolled' }, snapshotId: second })
    await lab.append('s.rolled', 'SELECT 4::BIGINT AS c1')
    const rolled = await changes(`from_snapshot_id=${third}`, 's.rolled')
    expect([rolled.status, rolled.body.code]).toEqual([422, 'NOT_AN_ANCESTOR'])
    expect(rolled.body.detail).toContain('is not an ancestor of snapshot')
    const { body } = await changes(`columns=id,_change_type&from_snapshot_id=${second}`, 's.rolled')
    expect(body.rows).toEqual([['4', 'insert']])
    await commit('s.rolled', [{ action: 'remove-snapshots', 'snapshot-ids': [first] }])
    const expired = await changes(`from_snapshot_id=${first}`, 's.rolled')
    expect([expired.status, expired.body.code]).toEqual([422, 'NOT_AN_ANCESTOR'])
    expect(expired.body.detail).toBe(
      `snapshot ${first} has expired: changes can start at snapshot ${second} or a later one`,
    )
    expect((await changes(`to_snapshot_id=${second}`, 's.rolled')).body.code).toBe('NOT_AN_ANCESTOR')
  })

  it('reads renamed, added, dropped and promoted columns of one history', async () => {
    await lab.createTable('s.grown', [
      ['id', 'int'],
      ['gone', 'string'],
      ['name', 'string'],
    ])
    const first = await lab.append('s.grown', "SELECT 1::INTEGER AS c1, 'x' AS c2, 'a' AS c3")
    const evolve = (path: string, body: object) =>
      engineer.call('POST', `/api/evolve/${path}`, { table: 's.grown', ...body })
    expect((await evolve('drop-column', { name: 'gone' })).status).toBe(200)
    expect((await evolve('rename-column', { name: 'name', new_name: 'gone' })).status).toBe(200)
    expect((await evolve('add-column', { name: 'name', type: 'double' })).status).toBe(200)
    const { metadata } = await lab.load('s.grown')
    const current = metadata.schemas.find(({ schemaId }) => schemaId === metadata.currentSchemaId)
    const fields = current?.fields.map(({ id, name }) => ({ id, name }))
    await commit('s.grown', [
      {
        action: 'add-schema',
        schema: {
          type: 'struct',
          'schema-id': 9,
          fields: (fields ?? []).map(({ id, name }) => ({
            id,
            name,
            required: false,
            type: id === 1 ? 'long' : id === 3 ? 'string' : 'double',
          })),
        },
      },
      { action: 'set-current-schema', 'schema-id': -1 },
    ])
    await overwrite(lab, 's.grown', {
      queries: ["SELECT * FROM (VALUES (1::BIGINT, 'a', NULL), (9007199254740993, 'b', 'NaN'::DOUBLE)) t(c1, c3, c4)"],
    })
    const { status, body } = await changes(`from_snapshot_id=${first.metadata.currentSnapshotId}`, 's.grown')
    expect(status, JSON.stringify(body)).toBe(200)
    // row 1 is the same in the old file and in the new one
    expect(body.rows.map((row: unknown[]) => row.slice(0, 4))).toEqual([['9007199254740993', 'b', 'NaN', 'insert']])
    const all = await changes(`to_snapshot_id=${first.metadata.currentSnapshotId}`, 's.grown')
    expect(all.body.rows.map((row: unknown[]) => row.slice(0, 4))).toEqual([['1', 'a', null, 'insert']])
    expect(all.body.from_snapshot_id).toBeNull()
  })

  it('follows a file that is removed and added again', async () => {
    await lab.createTable('s.again', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.again', numbered(0, 2))
    await deleteRow(lab, 's.again', 1)
    const { metadata } = await lab.load('s.again')
    const files = await dataFiles('s.again')
    await overwrite(lab, 's.again', { files: [] })
    await overwrite(lab, 's.again', { files })
    const { body } = await changes(
      `from_snapshot_id=${metadata.snapshots[0]?.snapshotId}&${columns},_change_ordinal`,
      's.again',
    )
    expect(body.rows).toEqual([
      ['1', 'n1', 'delete', 0],
      ['0', 'n0', 'delete', 1],
      // the delete is older than the file that was added again
      ['0', 'n0', 'insert', 2],
      ['1', 'n1', 'insert', 2],
    ])
  })

  it('counts NULL, NaN and both zeros as keys', async () => {
    await lab.createTable('s.keys', [
      ['k', 'double'],
      ['name', 'string'],
    ])
    const values = (name: string): string =>
      ['NULL', "'NaN'", "'-0.0'", "'0.0'"].map((k) => `(${k}::DOUBLE, '${name}')`).join(', ')
    await lab.append('s.keys', `SELECT * FROM (VALUES ${values('old')}) t(c1, c2)`)
    await overwrite(lab, 's.keys', { queries: [`SELECT * FROM (VALUES ${values('new')}) t(c1, c2)`] })
    const { status, body } = await changes('key=k&columns=_change_type&counts=true', 's.keys')
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.counts).toEqual({ insert: 0, delete: 0, update_before: 4, update_after: 4 })
  })

  it('refuses a table whose columns have the names of a change', async () => {
    await lab.createTable('s.named', [['_Change_Type', 'string']])
    await lab.append('s.named', "SELECT 'x' AS c1")
    const { status, body } = await changes('', 's.named')
    expect([status, body.code]).toEqual([422, 'UNSUPPORTED'])
    expect((await changes('', 's.empty')).status).toBe(404)
  })

  it('has no rows for a table without snapshots', async () => {
    await lab.createTable('s.empty', [['id', 'long']])
    const { body } = await changes('counts=true', 's.empty')
    expect(body).toMatchObject({ rows: [], to_snapshot_id: null, counts: { insert: 0 } })
  })
})

async function dataFiles(name: string): Promise<DataFile[]> {
  return (await planFiles(await lab.load(name))).map(({ dataFile }) => dataFile)
}
