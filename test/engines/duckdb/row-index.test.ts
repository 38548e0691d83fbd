import { afterAll, describe, expect, it } from 'vitest'
import type { Engine, RewriteTask } from '../../../src/engines/engine.ts'
import type { RowIndex, RowLocation } from '../../../src/engines/row-index.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import type { PartitionSpec } from '../../../src/iceberg/partitioning/partitioning.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import type { SortOrder } from '../../../src/iceberg/partitioning/sort-order.ts'
import type { NestedField } from '../../../src/iceberg/schema/types.ts'
import { field, Lake, list, map, schemaOf, struct, type TableShape } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

const ID = field(1, 'id', 'int')
const IDS = schemaOf([ID])

interface Rewritten {
  readonly engine: Engine
  readonly task: RewriteTask
  readonly files: readonly DataFile[]
  readonly index: RowIndex
}

async function rewriteAndIndex(
  shape: TableShape,
  inputs: readonly FileScanTask[],
  overrides: Partial<RewriteTask> = {},
): Promise<Rewritten> {
  const engine = await lake.engine()
  const task = lake.task(shape, inputs, { verifyValues: true, ...overrides })
  const { files } = await engine.rewrite(task)
  const { io, metadata, output } = task
  const { schema, formatVersion } = output
  const index = await engine.openRowIndex({ io, metadata, inputs, files, schema, formatVersion })
  return { engine, task, files, index }
}

/** The inputs as they are after one more position delete file, which names rows of any of them. */
async function deleted(
  inputs: readonly FileScanTask[],
  rows: readonly (readonly [input: number, position: number])[],
): Promise<readonly FileScanTask[]> {
  const named = rows.map(([input, position]) => [inputs[input]?.dataFile.filePath ?? '', position] as const)
  const ref = await lake.positionDeletes(named, 5)
  return inputs.map((input) => ({ ...input, deletes: [...input.deletes, ref] }))
}

function located(location: RowLocation): Extract<RowLocation, { kind: 'located' }> {
  if (location.kind !== 'located') throw new Error(location.reason)
  return location
}

/** The rows of new files without those at located positions, as text, read by another database. */
async function remaining(files: readonly DataFile[], location: RowLocation, columns: string): Promise<string[]> {
  const { positions } = located(location)
  const rows: string[] = []
  for (const [at, { filePath }] of files.entries()) {
    const gone = new Set(positions[at])
    const found = await lake.sql(
      `SELECT file_row_number AS n, (${columns})::VARCHAR AS row FROM read_parquet('${filePath}', file_row_number = true)`,
    )
    for (const { n, row } of found) if (!gone.has(Number(n))) rows.push(String(row))
  }
  return rows.toSorted()
}

const byIdDescending: SortOrder = {
  orderId: 1,
  fields: [{ sourceId: 1, transform: { kind: 'identity' }, direction: 'desc', nullOrder: 'nulls-last' }],
}

describe.each([2, 3] as const)('a row index of format version %i', (formatVersion) => {
  const shape = { schemas: [IDS], formatVersion }
  const numbers = async (from: number): Promise<FileScanTask> =>
    lake.data(
      `SELECT (${from} + i)::INTEGER AS id FROM range(10) r(i)`,
      '{id: 1}',
      formatVersion === 3 ? { firstRowId: from * 10 } : {},
    )

  it.each([undefined, byIdDescending])(
    'locates rows that are deleted in several calls, sorted by %o',
    async (sortOrder) => {
      const inputs = [await numbers(0), await numbers(100)]
      const overrides = { targetFileSizeBytes: 1 }
      const { files, index } = await rewriteAndIndex(
        shape,
        inputs,
        sortOrder === undefined ? {} : { sortOrder, ...overrides },
      )
      expect(located(await index.locate(inputs))).toMatchObject({ rows: 0 })
      const first = await deleted(inputs, [
        [0, 3],
        [1, 9],
      ])
      expect(located(await index.locate(first)).rows).toBe(2)
      const second = await deleted(first, [
        [0, 3],
        [0, 0],
      ])
      const location = await index.locate(second)
      expect(located(location).rows).toBe(3)
      const ids = [1, 2, 4, 5, 6, 7, 8, 9, 100, 101, 102, 103, 104, 105, 106, 107, 108].map(String)
      expect(await remaining(files, location, 'id')).toEqual(ids.toSorted())
      expect(await index.locate(second)).toEqual(location)
      await index.close()
    },
  )

  it('does not locate rows that the rewrite had removed', async () => {
    const [a, twin] = [await numbers(0), await numbers(0)]
    const b = formatVersion === 3 ? { ...twin, dataFile: { ...twin.dataFile, firstRowId: 500 } } : twin
    const equality = await lake.equalityDeletes('SELECT 4::INTEGER AS id', '{id: 1}', [1], 2)
    const position = await lake.positionDeletes([[a.dataFile.filePath, 5]], 2)
    // the equality delete is older than the second file, so that its equal row is live
    const inputs = [
      { ...a, deletes: [equality, position] },
      { ...b, sequenceNumber: 3 },
    ]
    const { files, index } = await rewriteAndIndex(shape, inputs)
    const now = await deleted(inputs, [
      [0, 4],
      [0, 5],
      [0, 6],
    ])
    const location = await index.locate(now)
    expect(located(location).rows).toBe(1)
    expect(await remaining(files, location, 'id')).toEqual(
      [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8, 8, 9, 9].map(String),
    )
    await index.close()
  })

  it('refuses deletes that were withdrawn, applied or located', async () => {
    const input = await numbers(0)
    const [withApplied] = await deleted([input], [[0, 1]])
    if (withApplied === undefined) throw new Error('no input')
    const applied = await rewriteAndIndex(shape, [withApplied])
    expect(await applied.index.locate([input])).toMatchObject({
      kind: 'impossible',
      reason: '1 deletes were withdrawn',
    })
    await applied.index.close()
    const carried = await rewriteAndIndex(shape, [input])
    expect(located(await carried.index.locate([withApplied])).rows).toBe(1)
    expect(await carried.index.locate([input])).toMatchObject({ kind: 'impossible' })
    await carried.index.close()
  })

  it('accepts other delete files with the same positions', async () => {
    const input = await numbers(0)
    const two = await deleted(await deleted([input], [[0, 1]]), [[0, 2]])
    const { index } = await rewriteAndIndex(shape, two)
    const [merged] = await deleted(
      [input],
      [
        [0, 2],
        [0, 1],
        [0, 8],
      ],
    )
    if (merged === undefined) throw new Error('no input')
    expect(located(await index.locate([merged])).rows).toBe(1)
    await index.close()
  })

  it('locates every row when all rows of a new file are deleted', async () => {
    const input = await numbers(0)
    const { index } = await rewriteAndIndex(shape, [input])
    const now = await deleted(
      [input],
      Array.from({ length: 10 }, (_, at) => [0, at] as const),
    )
    expect(located(await index.locate(now))).toEqual({
      kind: 'located',
      rows: 10,
      positions: [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    })
    await index.close()
  })

  it('removes its files when closed', async () => {
    const input = await numbers(0)
    const { index } = await rewriteAndIndex(shape, [input])
    await index.locate(await deleted([input], [[0, 1]]))
    await index.close()
    expect(lake.leftovers().filter((path) => path.startsWith(lake.scratch))).toEqual([])
  })

  it('refuses position deletes in a format that it cannot read', async () => {
    const input = await numbers(0)
    const { index } = await rewriteAndIndex(shape, [input])
    const [now] = await deleted([input], [[0, 1]])
    const orc = now?.deletes.map((ref) => ({ ...ref, file: { ...ref.file, fileFormat: 'orc' as const } })) ?? []
    await expect(index.locate([{ ...input, deletes: orc }])).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    await index.close()
  })

  it('accepts equality deletes in a format that it cannot read, because it does not read them', async () => {
    const input = await numbers(0)
    const { index } = await rewriteAndIndex(shape, [input])
    const equality = await lake.equalityDeletes('SELECT 4::INTEGER AS id', '{id: 1}', [1], 2)
    const orc = { ...equality, file: { ...equality.file, fileFormat: 'orc' as const } }
    const [now] = await deleted([input], [[0, 1]])
    const deletes = [orc, ...(now?.deletes ?? [])]
    expect(located(await index.locate([{ ...input, deletes }])).rows).toBe(1)
    await index.close()
  })

  it('keeps no copy of data files while it is open', async () => {
    const input = await lake.data(
      'SELECT 7::INTEGER AS id FROM range(10)',
      '{id: 1}',
      formatVersion === 3 ? { firstRowId: 10 } : {},
    )
    const { files, index } = await rewriteAndIndex(shape, [input])
    const staged = (): string[] =>
      lake.leftovers().filter((path) => path.endsWith('.parquet') && path.startsWith(lake.scratch))
    expect(staged()).toEqual([])
    const first = await deleted([input], [[0, 1]])
    expect(located(await index.locate(first)).rows).toBe(1)
    const location = await index.locate(await deleted(first, [[0, 2]]))
    expect(await remaining(files, location, 'id')).toEqual(Array(8).fill('7'))
    // the delete files themselves are small
    expect(staged().filter((path) => !/\/a\d+_\d+\.parquet$/.test(path))).toEqual([])
    await index.close()
  })

  it('reports a delete file that is gone', async () => {
    const input = await numbers(0)
    const { index } = await rewriteAndIndex(shape, [input])
    const [now] = await deleted([input], [[0, 1]])
    const gone = now?.deletes.map((ref) => ({ ...ref, file: { ...ref.file, filePath: '/nowhere.parquet' } })) ?? []
    await expect(index.locate([{ ...input, deletes: gone }])).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
    await index.close()
  })
})

describe('a row index of rows without ids', () => {
  const double = field(2, 'd', 'double')

  it('locates as many equal rows as were deleted', async () => {
    const inputs = [
      await lake.data('SELECT 7::INTEGER AS id FROM range(5)', '{id: 1}'),
      await lake.data('SELECT (i % 2 * 7)::INTEGER AS id FROM range(4) r(i)', '{id: 1}'),
    ]
    const { files, index } = await rewriteAndIndex({ schemas: [IDS] }, inputs)
    const first = await deleted(inputs, [
      [0, 0],
      [1, 1],
    ])
    expect(await remaining(files, await index.locate(first), 'id')).toEqual(['0', '0', '7', '7', '7', '7', '7'])
    const second = await deleted(first, [
      [0, 1],
      [1, 0],
    ])
    expect(await remaining(files, await index.locate(second), 'id')).toEqual(['0', '7', '7', '7', '7'])
    const third = await deleted(second, [
      [0, 2],
      [0, 3],
      [0, 4],
      [1, 3],
    ])
    expect(await remaining(files, await index.locate(third), 'id')).toEqual(['0'])
    await index.close()
  })

  it.each<[string, readonly NestedField[], string, readonly string[]]>([
    [
      'signed zeros and NaN',
      [double],
      'd',
      ["'0.0'", "'-0.0'", "'NaN'", 'NULL', "'1.5'"].map((value) => `${value}::DOUBLE`),
    ],
    [
      'lists of zeros',
      [field(2, 'd', list(3, 'double'))],
      'd',
      ['[0.0::DOUBLE]', "['-0.0'::DOUBLE]", '[NULL::DOUBLE]', '[]::DOUBLE[]', 'NULL::DOUBLE[]', '[0.0::DOUBLE, 0.0]'],
    ],
    [
      'structs',
      [field(2, 'd', struct(field(3, 'x', 'int'), field(4, 'y', 'float')))],
      'd',
      [
        '{x: 1, y: 0.0::FLOAT}',
        "{x: 1, y: '-0.0'::FLOAT}",
        '{x: NULL, y: NULL}::STRUCT(x INTEGER, y FLOAT)',
        'NULL::STRUCT(x INTEGER, y FLOAT)',
      ],
    ],
    [
      'maps',
      [field(2, 'd', map(3, 'string', 4, 'double'))],
      'd',
      ["MAP{'a': 0.0::DOUBLE}", "MAP{'a': '-0.0'::DOUBLE}", "MAP{'b': 0.0::DOUBLE}", 'NULL::MAP(VARCHAR, DOUBLE)'],
    ],
    ['texts', [field(2, 'd', 'string')], 'd', ["''", "'a'", "'A'", "'a '", 'NULL::VARCHAR']],
  ])('distinguishes %s', async (_, fields, column, values) => {
    const schema = schemaOf(fields)
    const engine = await lake.engine()
    // each value twice, in two files
    const select = values.map((value) => `SELECT ${value} AS c2`).join(' UNION ALL ')
    const output = lake.output(schema)
    const made = [
      ...(await engine.append({ io: lake.io, query: select, output })),
      ...(await engine.append({ io: lake.io, query: select, output: lake.output(schema) })),
    ]
    const inputs = made.map((dataFile) => ({ dataFile, sequenceNumber: 1, fileSequenceNumber: 1, deletes: [] }))
    const { files, index } = await rewriteAndIndex({ schemas: [schema] }, inputs)
    const all = await remaining(files, await index.locate(inputs), column)
    for (const at of values.keys()) {
      const [value] = await lake.sql(
        `SELECT (${column})::VARCHAR AS row FROM read_parquet('${made[0]?.filePath}', file_row_number = true) WHERE file_row_number = ${at}`,
      )
      const { index: fresh } = await rewriteAndIndexAgain(inputs, files, schema.fields)
      const left = await remaining(files, await fresh.locate(await deleted(inputs, [[1, at]])), column)
      const expected = [...all]
      expected.splice(expected.indexOf(String(value?.['row'])), 1)
      expect(left, `without ${values[at]}`).toEqual(expected)
      await fresh.close()
    }
    await index.close()
  })

  async function rewriteAndIndexAgain(
    inputs: readonly FileScanTask[],
    files: readonly DataFile[],
    fields: readonly NestedField[],
  ): Promise<{ index: RowIndex }> {
    const engine = await lake.engine()
    const schema = schemaOf(fields)
    const { metadata } = lake.task({ schemas: [schema] }, inputs)
    return { index: await engine.openRowIndex({ io: lake.io, metadata, inputs, files, schema, formatVersion: 2 }) }
  }

  it('locates rows that moved to other partitions', async () => {
    const spec: PartitionSpec = {
      specId: 1,
      fields: [{ fieldId: 1000, sourceId: 1, name: 'id', transform: { kind: 'identity' } }],
    }
    const input = await lake.data('SELECT (i % 3)::INTEGER AS id FROM range(9) r(i)', '{id: 1}')
    const shape = { schemas: [IDS], specs: [{ specId: 0, fields: [] }, spec] }
    const engine = await lake.engine()
    const task = lake.task(shape, [input], { output: lake.output(IDS, { partitionSpec: spec }) })
    const { partition: _, ...moving } = task
    const { files } = await engine.rewrite(moving)
    expect(files).toHaveLength(3)
    const { io, metadata } = task
    const index = await engine.openRowIndex({ io, metadata, inputs: [input], files, schema: IDS, formatVersion: 2 })
    const location = await index.locate(
      await deleted(
        [input],
        [
          [0, 0],
          [0, 3],
          [0, 7],
        ],
      ),
    )
    expect(await remaining(files, location, 'id')).toEqual(['0', '1', '1', '2', '2', '2'])
    const deletes = await index.writePositionDeletes({
      properties: {},
      newLocation: (n) => lake.path(`del/${n}.parquet`),
    })
    expect(deletes.map(({ specId, partition, recordCount }) => ({ specId, partition, recordCount }))).toEqual(
      files
        .filter(({ partition }) => partition[0] !== 2)
        .map(({ partition }) => ({ specId: 1, partition, recordCount: partition[0] === 0 ? 2 : 1 })),
    )
    await index.close()
  })

  it('reads rows with ids and rows without as different rows', async () => {
    const inputs = [
      await lake.data('SELECT 1::INTEGER AS id FROM range(2)', '{id: 1}', { firstRowId: 10 }),
      await lake.data('SELECT 1::INTEGER AS id FROM range(2)', '{id: 1}'),
    ]
    const { files, index } = await rewriteAndIndex({ schemas: [IDS], formatVersion: 3 }, inputs)
    const location = await index.locate(
      await deleted(inputs, [
        [0, 1],
        [1, 0],
      ]),
    )
    expect(await remaining(files, location, '_row_id')).toEqual(['10', 'null'])
    await index.close()
  })
})

it('a row index refuses rows when two files assign the same row ids', async () => {
  const inputs = [
    await lake.data('SELECT 1::INTEGER AS id', '{id: 1}', { firstRowId: 10 }),
    await lake.data('SELECT 2::INTEGER AS id', '{id: 1}', { firstRowId: 10 }),
  ]
  const { index } = await rewriteAndIndex({ schemas: [IDS], formatVersion: 3 }, inputs)
  expect(await index.locate(await deleted(inputs, [[0, 0]]))).toMatchObject({
    kind: 'impossible',
    reason: 'different rows have the same key',
  })
  await index.close()
})

it('a row index stops when its signal is aborted', async () => {
  const engine = await lake.engine()
  const input = await lake.data('SELECT 1::INTEGER AS id', '{id: 1}')
  const { io, metadata, output } = lake.task({ schemas: [IDS] }, [input])
  const task = {
    io,
    metadata,
    inputs: [input],
    files: [input.dataFile],
    schema: output.schema,
    formatVersion: 2 as const,
  }
  await expect(engine.openRowIndex(task, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' })
  const controller = new AbortController()
  const index = await engine.openRowIndex(task, { signal: controller.signal })
  controller.abort()
  await expect(index.locate(await deleted([input], [[0, 0]]))).rejects.toMatchObject({ code: 'CANCELLED' })
  await index.close()
})

it('a row index can be closed when its engine was closed before', async () => {
  const other = new Lake()
  const engine = await other.engine()
  const input = await other.data('SELECT 1::INTEGER AS id', '{id: 1}')
  const { io, metadata, output } = other.task({ schemas: [IDS] }, [input])
  const { schema } = output
  const index = await engine.openRowIndex({
    io,
    metadata,
    inputs: [input],
    files: [input.dataFile],
    schema,
    formatVersion: 2,
  })
  await other.close()
  await expect(index.locate([input])).rejects.toMatchObject({ code: 'CANCELLED' })
  await index.close()
})
