import { describe, expect, it } from 'vitest'
import { parseCompactionOptions } from '../../../src/maintenance/compaction/options.ts'
import { planCompaction } from '../../../src/maintenance/compaction/planner.ts'
import type { FileScanTask } from '../../../src/iceberg/scan/scan.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { dataFile, deletionVector, MIB, partitionField, sampleMetadata, scanTask } from '../metadata-samples.ts'

const byRegion = { 'partition-specs': [{ 'spec-id': 0, fields: [partitionField(1000, 2, 'identity')] }] }

function plan(metadata: TableMetadata, tasks: readonly FileScanTask[], request: Record<string, unknown> = {}) {
  return planCompaction({ metadata, tasks, options: parseCompactionOptions(request, metadata.properties) })
}

const repeat = (count: number, make: () => FileScanTask): FileScanTask[] => Array.from({ length: count }, make)

describe('a compaction plan', () => {
  it('groups by partition and evaluates each partition separately', () => {
    const metadata = sampleMetadata(byRegion)
    const tasks = [
      ...repeat(3, () => scanTask({ partition: ['eu'] })),
      ...repeat(5, () => scanTask({ partition: ['us'] })),
      ...repeat(3, () => scanTask({ partition: ['eu'] })),
      ...repeat(4, () => scanTask({ partition: [null] })),
    ]
    const { groups, totals } = plan(metadata, tasks)
    expect(groups.map(({ partition, inputs }) => [partition, inputs.length])).toEqual([
      [['eu'], 6],
      [['us'], 5],
    ])
    expect(groups[0]).toMatchObject({ outputSpecId: 0, bytes: 6 * MIB, expectedOutputFiles: 1, index: 0 })
    expect(totals).toEqual({
      groups: 2,
      files: 11,
      bytes: 11 * MIB,
      records: 1100,
      deleteFiles: 0,
      positionDeletes: 0,
      expectedOutputFiles: 2,
    })
  })

  it('plans the reference case: 1,000 files of 1 MiB become 2 of 500 MiB', () => {
    const { groups } = plan(
      sampleMetadata(),
      repeat(1000, () => scanTask()),
    )
    expect(groups).toHaveLength(1)
    expect(groups[0]).toMatchObject({ expectedOutputFiles: 2, targetSplitBytes: 512 * MIB, partition: [] })
  })

  it('puts files of all other specs into one unpartitioned group', () => {
    const metadata = sampleMetadata({
      'default-spec-id': 2,
      'partition-specs': [
        { 'spec-id': 0, fields: [] },
        { 'spec-id': 1, fields: [partitionField(1000, 1, 'bucket[4]')] },
        { 'spec-id': 2, fields: [partitionField(1001, 2, 'identity')] },
      ],
    })
    const tasks = [
      ...repeat(2, () => scanTask({ specId: 0 })),
      ...repeat(3, () => scanTask({ specId: 1, partition: [3] })),
      ...repeat(4, () => scanTask({ specId: 2, partition: [null] })),
    ]
    const { groups } = plan(metadata, tasks)
    expect(groups).toHaveLength(1)
    expect(groups[0]).toMatchObject({ outputSpecId: 2, inputs: { length: 5 } })
    expect(groups[0]).not.toHaveProperty('partition')
  })

  it('groups files of all specs together once the table is unpartitioned', () => {
    const metadata = sampleMetadata({
      'default-spec-id': 1,
      'partition-specs': [
        { 'spec-id': 0, fields: [partitionField(1000, 2, 'identity')] },
        { 'spec-id': 1, fields: [] },
      ],
    })
    const tasks = [
      ...repeat(3, () => scanTask({ partition: ['eu'] })),
      ...repeat(2, () => scanTask({ specId: 1, partition: [] })),
    ]
    expect(plan(metadata, tasks).groups).toMatchObject([{ partition: [], inputs: { length: 5 }, outputSpecId: 1 }])
  })

  it('counts only file-scoped deletes towards the ratio, and each delete file once in the totals', () => {
    const big = { fileSizeInBytes: 450 * MIB }
    const shared = dataFile({ content: 'position-deletes', recordCount: 90 })
    const equality = dataFile({ content: 'equality-deletes', recordCount: 90, equalityIds: [1] })
    const path = new TextEncoder().encode('/a/b')
    const bounds = new Map([[2_147_483_546, path]])
    const scoped = dataFile({ content: 'position-deletes', recordCount: 30, lowerBounds: bounds, upperBounds: bounds })
    const tasks = [
      scanTask(big, [shared, equality]),
      scanTask(big, [deletionVector(30)]),
      scanTask(big, [scoped, shared]),
    ]
    const { groups, totals } = plan(sampleMetadata(), tasks)
    expect(groups).toMatchObject([
      { inputs: [tasks[1], tasks[2]], reasons: ['enough-content', 'too-many-deleted-records'] },
    ])
    expect(totals.deleteFiles).toBe(3)
    expect(plan(sampleMetadata(), tasks, { delete_file_threshold: 2 }).groups).toMatchObject([
      {
        inputs: { length: 3 },
        reasons: ['enough-content', 'too-much-content', 'too-many-delete-files', 'too-many-deleted-records'],
      },
    ])
  })

  it('stops at max_files_to_rewrite and shortens the last group', () => {
    const metadata = sampleMetadata(byRegion)
    const tasks = ['a', 'b', 'c'].flatMap((region) => repeat(6, () => scanTask({ partition: [region] })))
    const { groups, totals } = plan(metadata, tasks, { max_files_to_rewrite: 8 })
    expect(groups.map(({ inputs }) => inputs.length)).toEqual([6, 2])
    expect(totals).toMatchObject({ files: 8, bytes: 8 * MIB })
  })

  it('splits a partition into groups of max_file_group_size_bytes', () => {
    const tasks = repeat(12, () => scanTask())
    const { groups } = plan(sampleMetadata(), tasks, { max_file_group_size_bytes: 6 * MIB })
    expect(groups.map(({ inputs, index }) => [index, inputs.length])).toEqual([
      [0, 6],
      [1, 6],
    ])
  })

  it('has nothing to do for an empty table', () => {
    expect(plan(sampleMetadata(), [])).toMatchObject({ groups: [], skipped: [], totals: { files: 0 } })
  })
})

const orc = () => [...repeat(4, () => scanTask()), scanTask({ fileFormat: 'orc', filePath: '/t/x.orc' })]

function refused(tasks: FileScanTask[], text: string): void {
  expect(() => plan(sampleMetadata(), tasks)).toThrow(
    expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining(text) }),
  )
}

describe('files that must not be rewritten', () => {
  it('refuse the whole request when a selected group contains ORC, encrypted or unknown files', () => {
    refused(orc(), '/t/x.orc is in format ORC')
    refused([...repeat(4, () => scanTask()), scanTask({ keyMetadata: new Uint8Array(0) })], 'encrypted')
    refused([...repeat(4, () => scanTask()), scanTask({ fileFormat: 'vortex' })], 'VORTEX')
    refused(
      [...repeat(4, () => scanTask()), scanTask({}, [dataFile({ content: 'position-deletes', fileFormat: 'orc' })])],
      'delete file',
    )
  })

  it('are ignored in partitions that are not selected', () => {
    const metadata = sampleMetadata(byRegion)
    const tasks = [
      ...repeat(5, () => scanTask({ partition: ['a'] })),
      scanTask({ partition: ['b'], fileFormat: 'orc' }),
    ]
    expect(plan(metadata, tasks).groups).toHaveLength(1)
  })

  it('skip their group with partial progress, and are reported', () => {
    const metadata = sampleMetadata(byRegion)
    const tasks = [
      ...orc().map((task) => ({ ...task, dataFile: { ...task.dataFile, partition: ['a'] } })),
      ...repeat(5, () => scanTask({ partition: ['b'] })),
    ]
    const { groups, skipped } = plan(metadata, tasks, { partial_progress: true })
    expect(groups).toMatchObject([{ partition: ['b'] }])
    expect(skipped).toMatchObject([{ files: 5, bytes: 5 * MIB, reason: expect.stringContaining('ORC') }])
  })

  it('include encrypted tables and unknown transforms of the current spec', () => {
    expect(() => plan({ ...sampleMetadata(), encrypted: true }, [])).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED' }),
    )
    const unknown = sampleMetadata({
      'partition-specs': [{ 'spec-id': 0, fields: [partitionField(1000, 2, 'zorder[3]')] }],
    })
    expect(() => plan(unknown, [])).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
  })
})

describe('a table with a column that the engine cannot write', () => {
  const places = {
    'format-version': 3,
    'next-row-id': 0,
    schemas: [
      {
        type: 'struct',
        'schema-id': 0,
        fields: [
          { id: 1, name: 'id', required: false, type: 'long' },
          { id: 2, name: 'region', required: false, type: 'string' },
          { id: 3, name: 'place', required: false, type: 'geometry' },
        ],
      },
    ],
  }

  it('is copied, whatever the size of its row groups, also when all files are chosen', () => {
    const { groups } = plan(
      sampleMetadata(places),
      repeat(5, () => scanTask()),
      { rewrite_all: true },
    )
    expect(groups).toMatchObject([{ noRewriteReason: expect.stringContaining('column place has type geometry') }])
    expect(groups[0]?.noCopyReason).toBeUndefined()
  })

  it.each([
    ['deletes apply', {}, () => scanTask({}, [deletionVector(1)])],
    ['method is "rewrite"', { method: 'rewrite' }, () => scanTask()],
    ['"sort" changes the order', { strategy: 'sort', sort_order: 'id' }, () => scanTask()],
    ['format AVRO', {}, () => scanTask({ fileFormat: 'avro' })],
  ])('is refused before anything starts when %s', (reason, request, make) => {
    expect(() => plan(sampleMetadata(places), repeat(5, make), request)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: expect.stringMatching(new RegExp(`column place has type geometry.*not copied: .*${reason}`)),
      }),
    )
  })

  it('lists the groups that cannot be copied when others can', () => {
    const tasks = [
      ...repeat(5, () => scanTask({ partition: ['a'] })),
      ...repeat(5, () => scanTask({ partition: ['b'] }, [deletionVector(1)])),
    ]
    const { groups, skipped } = plan(sampleMetadata({ ...places, ...byRegion }), tasks)
    expect(groups).toMatchObject([{ partition: ['a'] }])
    expect(skipped).toMatchObject([{ files: 5, reason: expect.stringContaining('deletes apply') }])
  })

  it('is planned for Spark without a refusal', () => {
    const metadata = sampleMetadata(places)
    const tasks = repeat(5, () => scanTask({}, [deletionVector(1)]))
    const options = parseCompactionOptions({}, metadata.properties)
    expect(planCompaction({ metadata, tasks, options, engine: 'spark' }).groups).toHaveLength(1)
  })
})

describe('sort order', () => {
  it("reads columns with Iceberg's default null order", () => {
    const { sortOrder } = plan(sampleMetadata(), [], { sort_order: 'region DESC, id ASC NULLS LAST, `n`' })
    expect(sortOrder).toEqual({
      orderId: 0,
      fields: [
        { sourceId: 2, transform: { kind: 'identity' }, direction: 'desc', nullOrder: 'nulls-last' },
        { sourceId: 1, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-last' },
        { sourceId: 6, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-first' },
      ],
    })
  })

  it('reads quoted names that contain commas, quotes and keywords', () => {
    const names = ['id', 'a, b', 'say "x"', 'tick`s', 'c DESC NULLS LAST', 'naïve']
    const fields = names.map((name, at) => ({ id: at + 1, name, required: false, type: 'int' }))
    const metadata = sampleMetadata({ schemas: [{ type: 'struct', 'schema-id': 0, fields }] })
    const terms = [
      '"a, b" DESC ',
      '"say ""x""" ',
      ' `tick``s` NULLS FIRST',
      ' "c DESC NULLS LAST"',
      '`naïve` ASC',
      'id',
    ]
    const { sortOrder } = plan(metadata, [], { sort_order: terms.join(',') })
    const read = sortOrder?.fields.map(({ sourceId, direction }) => `${sourceId} ${direction}`)
    expect(read).toEqual(['2 desc', '3 asc', '4 asc', '5 asc', '6 asc', '1 asc'])
  })

  it('keeps the id of an existing order, and uses the table order by default', () => {
    const field = { 'source-id': 1, transform: 'identity', direction: 'asc', 'null-order': 'nulls-first' }
    const metadata = sampleMetadata({
      'default-sort-order-id': 3,
      'sort-orders': [{ 'order-id': 3, fields: [field] }],
    })
    expect(plan(metadata, [], { sort_order: 'id' }).sortOrder).toMatchObject({ orderId: 3 })
    expect(plan(metadata, [], { strategy: 'sort' }).sortOrder).toMatchObject({ orderId: 3 })
    expect(plan(metadata, []).sortOrder).toBeUndefined()
  })

  it.each([
    ['nope', 'NO_SUCH_COLUMN'],
    ['tags', 'INVALID_ARGUMENT'],
    ['id SIDEWAYS', 'INVALID_ARGUMENT'],
    ['id,', 'INVALID_ARGUMENT'],
    [',id', 'INVALID_ARGUMENT'],
    ['id,,id', 'INVALID_ARGUMENT'],
    ['"id', 'INVALID_ARGUMENT'],
    ['"id" "id"', 'INVALID_ARGUMENT'],
    ['id; drop table x', 'INVALID_ARGUMENT'],
  ])('refuses %s', (sort_order, code) => {
    expect(() => plan(sampleMetadata(), [], { sort_order })).toThrow(expect.objectContaining({ code }))
  })

  it('refuses to sort without an order', () => {
    expect(() => plan(sampleMetadata(), [], { strategy: 'sort' })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})
