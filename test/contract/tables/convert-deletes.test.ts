import { DuckDBInstance } from '@duckdb/node-api'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { currentSnapshot } from '../../../src/iceberg/metadata/metadata.ts'
import { newDataLocation } from '../../../src/iceberg/metadata/locations.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'

const TABLE = 'demo.events'
const PATH = '/api/convert-deletes'

let service: TestService
beforeAll(async () => {
  service = await startTestService({
    events: { commits: 4, filesPerCommit: 1, rowsPerFile: 100 },
    overrides: { automation: { index: { pollMs: 50, remeasureMs: 0 }, policyTickMs: 100 } },
  })
  // six commits of a writer that deletes by key, ten keys each; row 0 of every second file is deleted by position already
  for (let commit = 0; commit < 6; commit += 1) await deleteKeys(commit, 'i * 7')
}, 300_000)
afterAll(() => service.close())

/** Commits an equality delete file with the keys that an expression over `i` (0 to 9) gives. */
async function deleteKeys(commit: number, key: string): Promise<void> {
  const catalog = service.context.app.catalog.current()
  const { metadata, io } = await catalog.loadTable(parseIdentifier(TABLE))
  const staged = join(service.folder, `keys-${commit}.parquet`)
  const duck = await (await DuckDBInstance.create(':memory:')).connect()
  await duck.run(
    `COPY (SELECT (${key} + ${commit * 13})::BIGINT AS id FROM range(10) r(i)) TO '${staged}' (FORMAT parquet, FIELD_IDS {id: 1})`,
  )
  duck.closeSync()
  const filePath = newDataLocation(metadata, '', `keys-${commit}.parquet`)
  await io.moveIn(staged, filePath)
  const { sizeBytes = 0 } = (await io.stat(filePath)) ?? {}
  const file: DataFile = {
    content: 'equality-deletes',
    filePath,
    fileFormat: 'parquet',
    specId: 0,
    partition: [],
    recordCount: 10,
    fileSizeInBytes: sizeBytes,
    equalityIds: [1],
  }
  await commitTable(catalog, parseIdentifier(TABLE), (table) =>
    stageRowDelta(table, { dataFiles: [], deleteFiles: [file], operationId: `keys-${commit}` }),
  )
}

const details = (answer: { body: { details_json: string } }) => JSON.parse(answer.body.details_json)

async function countRows(): Promise<number> {
  const { body } = await service.post('/api/query', { sql: `SELECT count(*) AS n FROM ${TABLE}` })
  return Number(body.rows[0][0])
}

describe('POST /api/convert-deletes', () => {
  it('refuses options that it does not have, unknown columns and unknown tables', async () => {
    const refused = await service.post(PATH, { table: TABLE, rewrite_all: true })
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, 'rewrite_all'])
    expect((await service.post(PATH, { table: TABLE, where: 'nothing = 1' })).status).toBe(404)
    expect((await service.post(PATH, { table: 'demo.nothing' })).status).toBe(404)
    expect((await service.post(PATH, { table: TABLE }, { token: null })).status).toBe(401)
  })

  it('previews without a change, and applies exactly that plan with receipt, ledger and audit', async () => {
    const rows = await countRows()
    const before = await service.get(`/api/table/${TABLE}`)
    const preview = await service.post(PATH, { table: TABLE, dry_run: true })
    expect(preview.body).toMatchObject({ success: true, operation: 'convert_deletes', operation_id: null })
    expect(details(preview)).toMatchObject({
      converted_delete_files_count: 6,
      added_delete_files_count: 1,
      searched_data_files_count: 4,
      converted_deletes_count: 60,
    })
    expect((await service.get(`/api/table/${TABLE}`)).body).toEqual(before.body)
    const { plan_id } = preview.body
    const applied = await service.post(PATH, { table: TABLE, plan_id })
    expect(applied.status).toBe(200)
    expect(details(applied)).toMatchObject({
      converted_delete_files_count: 6,
      added_delete_files_count: 1,
      before: { delete_file_count: 8 },
      after: { delete_file_count: 3 },
      failures: [],
    })
    const found = details(applied).converted_rows_count
    expect(found).toBeGreaterThan(40)
    expect(await countRows()).toBe(rows)
    const { body: operation } = await service.get(`/api/operations/${applied.body.operation_id}`)
    expect(operation).toMatchObject({
      state: 'succeeded',
      operation: 'convert_deletes',
      progress: { files_done: 4, files_total: 4 },
      receipt: {
        projected: { delete_files_removed: 5, bytes_freed: null },
        measured: { delete_files_removed: 5, files_removed: 0 },
        scan: { before: { delete_files: 8 }, after: { delete_files: 3 } },
      },
    })
    const { body: audit } = await service.get('/api/audit')
    expect(JSON.stringify(audit)).toContain(applied.body.operation_id)
    const stale = await service.post(PATH, { table: TABLE, plan_id })
    expect([stale.status, stale.body.code]).toEqual([409, 'PLAN_STALE'])
    const nothing = await service.post(PATH, { table: TABLE })
    expect(details(nothing)).toMatchObject({ converted_delete_files_count: 0, added_delete_files_count: 0 })
  })

  it('runs by a policy when a table has more equality delete files than its condition says', async () => {
    for (let commit = 6; commit < 9; commit += 1) await deleteKeys(commit, 'i * 11')
    const rows = await countRows()
    const lastCommit = async (): Promise<string> => {
      const { body } = await service.get('/api/health-index')
      return body.tables.find(({ table }: { table: string }) => table === TABLE).last_commit_at
    }
    const { metadata } = await service.context.app.catalog.current().loadTable(parseIdentifier(TABLE))
    const lastChange = new Date(currentSnapshot(metadata)?.timestampMs ?? 0).toISOString()
    const created = await service.post('/api/policies', {
      name: 'keys',
      tables: [TABLE],
      operations: [{ operation: 'convert_deletes' }],
      when: { equality_delete_files_over: 2 },
      mode: 'active',
    })
    expect(created.status).toBe(201)
    const equalityDeletes = async (): Promise<number> => {
      const { body } = await service.get(`/api/table/${TABLE}/health`)
      return body.delete_files.equality
    }
    await until(async () => (await equalityDeletes()) === 0)
    expect(await countRows()).toBe(rows)
    const { body } = await service.get(`/api/operations?table=${TABLE}`)
    const [run] = body.operations.filter(({ requested_by: by }: { requested_by: string }) => by.startsWith('policy:'))
    expect(run).toMatchObject({ operation: 'convert_deletes', result: { converted_delete_files_count: 3 } })
    await until(async () => {
      const { body: found } = await service.get(`/api/policies/${created.body.id}/decisions`)
      return found.decisions.some(({ outcome }: { outcome: string }) => outcome === 'ran')
    })
    expect(await lastCommit()).toBe(lastChange) // no row changed since
  })
})
