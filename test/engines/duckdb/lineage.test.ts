import { afterAll, describe, expect, it } from 'vitest'
import { footer, field, Lake, readAll, schemaOf } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

const schema = schemaOf([field(1, 'id', 'int')])
const v3 = { schemas: [schema], formatVersion: 3 as const }

describe('row lineage (format version 3)', () => {
  it('keeps stored ids, fills in inherited ones, and leaves unknown ids null', async () => {
    const engine = await lake.engine()
    const fresh = await lake.data('SELECT 10 + i::INTEGER AS id FROM range(3) r(i)', '{id: 1}', { firstRowId: 1000 })
    const rewritten = await lake.data(
      'SELECT * FROM (VALUES (20, 5::BIGINT, 2::BIGINT), (21, NULL, NULL), (22, 7, NULL)) v(id, rid, seq)',
      '{id: 1, rid: 2147483540, seq: 2147483539}',
      { firstRowId: 2000 },
    )
    const old = await lake.data('SELECT 30 AS id', '{id: 1}')
    const result = await engine.rewrite(
      lake.task(v3, [
        { ...fresh, sequenceNumber: 4 },
        { ...rewritten, sequenceNumber: 6, deletes: [await lake.positionDeletes([[rewritten.dataFile.filePath, 2]])] },
        { ...old, sequenceNumber: 1 },
      ]),
    )
    const rows = await readAll(result.files)
    expect(rows.sort((a, b) => Number(a['id']) - Number(b['id']))).toEqual([
      { id: 10, _row_id: 1000n, _last_updated_sequence_number: 4n },
      { id: 11, _row_id: 1001n, _last_updated_sequence_number: 4n },
      { id: 12, _row_id: 1002n, _last_updated_sequence_number: 4n },
      { id: 20, _row_id: 5n, _last_updated_sequence_number: 2n },
      { id: 21, _row_id: 2001n, _last_updated_sequence_number: 6n },
      { id: 30, _row_id: null, _last_updated_sequence_number: null },
    ])
    const ids = footer(result.files[0]?.filePath ?? '').schema.map((element) => element.field_id)
    expect(ids).toEqual([undefined, 1, 2147483540, 2147483539])
    expect(result.files[0]?.firstRowId).toBeUndefined()
  })

  it('counts positions before deletes and over all row groups', async () => {
    const engine = await lake.engine()
    const path = lake.path('groups.parquet')
    await lake.sql(
      `COPY (SELECT i::INTEGER AS id FROM range(10000) r(i)) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 2048, FIELD_IDS {id: 1})`,
    )
    const input = { dataFile: lake.dataFile(path, { firstRowId: 50 }), sequenceNumber: 3, fileSequenceNumber: 3 }
    const deletes = [
      await lake.positionDeletes([
        [path, 0],
        [path, 4000],
        [path, 9999],
      ]),
    ]
    const { files, rowsWritten } = await engine.rewrite(lake.task(v3, [{ ...input, deletes }]))
    expect(rowsWritten).toBe(9997)
    const rows = await readAll(files)
    expect(rows.every((row) => row['_row_id'] === BigInt(row['id'] as number) + 50n)).toBe(true)
  })

  it('is not written below version 3', async () => {
    const engine = await lake.engine()
    const input = await lake.data('SELECT 1 AS id', '{id: 1}', { firstRowId: 1 })
    const { files } = await engine.rewrite(lake.task({ schemas: [schema], formatVersion: 2 }, [input]))
    expect(await readAll(files)).toEqual([{ id: 1 }])
  })
})
