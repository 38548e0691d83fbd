import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withFieldIds } from '../../../../src/engines/duckdb/scan/field-ids.ts'
import { openInputs } from '../../../../src/engines/duckdb/scan/inputs.ts'
import { ScratchFolder } from '../../../../src/engines/duckdb/session/scratch.ts'
import { DuckDbSession } from '../../../../src/engines/duckdb/session/session.ts'
import { verifyFooters } from '../../../../src/engines/duckdb/verification/verify-footers.ts'
import { field, Lake, list, map, schemaOf, struct, tableMetadata, task } from '../harness/lake.ts'

const lake = new Lake()
let session: DuckDbSession

beforeAll(async () => {
  session = new DuckDbSession({
    scratch: await ScratchFolder.create(lake.path('session')),
    memoryLimitBytes: 256 * 2 ** 20,
  })
})
afterAll(async () => {
  await session.close()
  await lake.close()
})

const FIELDS = [
  field(1, 'id', 'int'),
  field(2, 'l', list(3, 'int')),
  field(4, 'm', map(5, 'string', 6, struct(field(7, 'x', 'int')))),
  field(8, 's', struct(field(9, 'y', 'int'))),
]
const IDS = `{id: 1, l: {__duckdb_field_id: 2, element: 3},
  m: {__duckdb_field_id: 4, key: 5, value: {__duckdb_field_id: 6, x: 7}}, s: {__duckdb_field_id: 8, y: 9}}`

/** Rows in every form: values, empty ones, NULL, and values of NULL. */
const ROWS = `SELECT id, l::INTEGER[] AS l, m::MAP(VARCHAR, STRUCT(x INTEGER)) AS m, s::STRUCT(y INTEGER) AS s FROM (VALUES
  (1, [1, 2], MAP {'a': {x: 1}}, {y: 1}), (2, [], MAP {}, {y: NULL}), (3, NULL, NULL, NULL),
  (4, [NULL], MAP {'b': NULL}, {y: 4})) AS v(id, l, m, s)`

interface Rewrite {
  readonly before: string
  readonly after: string
  readonly deleted?: number
  /** Field ids of the replaced file. */
  readonly ids?: string
}

/** Verifies a file that a rewrite wrote for another; both are made here, so no scan of the engine is part of it. */
async function verify({ before, after, deleted = 0, ids = IDS }: Rewrite): Promise<void> {
  const run = await session.open('testing')
  try {
    const context = { run, io: lake.io, metadata: tableMetadata({ schemas: [schemaOf(FIELDS)] }) }
    const inputs = await openInputs(context, [task(lake.dataFile(await lake.parquet(before, ids)))])
    const rowsRead = inputs.reduce((sum, { rowCount }) => sum + rowCount, 0)
    const paths = [await lake.parquet(after, IDS)]
    await verifyFooters(context, { inputs, paths, fields: FIELDS, rowsRead, rowsDeleted: deleted })
  } finally {
    await run.close()
  }
}

describe('the footers of replaced and new files', () => {
  it('agree when the new file has the same rows', async () => {
    await expect(verify({ before: ROWS, after: `${ROWS} ORDER BY id DESC` })).resolves.toBeUndefined()
  })

  it.each([
    ['a column', 'NULL::INTEGER AS id', 'column id,'],
    ['a list', 'NULL::INTEGER[] AS l', 'column l.element,'],
    ['the elements of a list', 'list_transform(l, lambda x: NULL::INTEGER) AS l', 'column l.element,'],
    ['a map', 'NULL::MAP(VARCHAR, STRUCT(x INTEGER)) AS m', 'column m.key,'],
    ['a struct', 'NULL::STRUCT(y INTEGER) AS s', 'column s.y,'],
    ['a member', '{y: NULL::INTEGER} AS s', 'column s.y,'],
  ])('differ by name when a scan makes %s NULL', async (_, replaced, named) => {
    await expect(
      verify({ before: ROWS, after: `SELECT * REPLACE (${replaced}) FROM (${ROWS})` }),
    ).rejects.toMatchObject({
      code: 'ROWS_NOT_CONSERVED',
      message: expect.stringContaining(named),
    })
  })

  it('agree when deletes removed any rows, and differ when a column lost more values than rows', async () => {
    const kept = `SELECT * FROM (${ROWS}) WHERE id IN (1, 3)`
    await expect(verify({ before: ROWS, after: kept, deleted: 2 })).resolves.toBeUndefined()
    const lost = `SELECT * REPLACE (NULL::INTEGER AS id) FROM (${kept})`
    await expect(verify({ before: ROWS, after: lost, deleted: 2 })).rejects.toMatchObject({
      code: 'ROWS_NOT_CONSERVED',
    })
  })

  it('agree when the replaced file lacks columns, and differ when the new file has values for them', async () => {
    const before = `SELECT id FROM (${ROWS})`
    const nulls = `SELECT id, NULL::INTEGER[] AS l, NULL::MAP(VARCHAR, STRUCT(x INTEGER)) AS m, NULL::STRUCT(y INTEGER) AS s`
    await expect(verify({ before, ids: '{id: 1}', after: `${nulls} FROM (${ROWS})` })).resolves.toBeUndefined()
    await expect(verify({ before, ids: '{id: 1}', after: ROWS })).rejects.toMatchObject({ code: 'ROWS_NOT_CONSERVED' })
  })
})

it('field ids of a name mapping replace the ids that a footer lacks', () => {
  const mapping = JSON.stringify([{ 'field-id': 7, names: ['a'] }])
  const metadata = tableMetadata({
    schemas: [schemaOf(FIELDS)],
    properties: { 'schema.name-mapping.default': mapping },
  })
  const type = { kind: 'primitive', duckType: 'INTEGER', isUtcNanos: false, leaf: 0 } as const
  const columns = [{ name: 'a', fileName: 'a', type }]
  const shape = { columns, hasFieldIds: false, footerIds: new Set<number>(), isReadByName: true }
  expect([...withFieldIds(shape, metadata, 'f').footerIds]).toEqual([7])
})
