import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHANGE_COLUMNS } from '../../../../src/iceberg/changes/change-columns.ts'
import type { ChangeMark, ChangeScanTask } from '../../../../src/iceberg/changes/changed-files.ts'
import type { DeleteFileRef } from '../../../../src/iceberg/scan/delete-index.ts'
import { ROW_ID } from '../../../../src/iceberg/schema/lineage-columns.ts'
import { createRandom } from '../../../maintenance/compaction/random-writers.ts'
import type { Random } from '../../../maintenance/compaction/model-lake.ts'
import { runs } from '../../../support/effort.ts'
import { field, Lake, schemaOf, tableMetadata } from '../harness/lake.ts'

const lake = new Lake()
beforeAll(() => lake.engine(1))
afterAll(() => lake.close())

const FIELDS = [field(1, 'k', 'double'), field(2, 'v', 'string')]
const IDS = `{k: 1, v: 2, _row_id: ${ROW_ID.id}}`

interface Row {
  /** SQL of its key. */
  readonly k: string
  readonly v: string
  /** Undefined: the row has no id yet. */
  readonly rowId: number | undefined
}

type Marks = Omit<ChangeMark, 'snapshotId'>

async function fileOf(
  rows: readonly Row[],
  marks: Marks,
  deletes: readonly DeleteFileRef[] = [],
): Promise<ChangeScanTask> {
  const values = rows.map(({ k, v, rowId }) => `(${k}::DOUBLE, '${v}', ${rowId ?? 'NULL'}::BIGINT)`).join(', ')
  const task = await lake.data(`SELECT * FROM (VALUES ${values}) t(k, v, _row_id)`, IDS)
  return { ...task, deletes, change: { ...marks, snapshotId: BigInt(marks.ordinal) } }
}

interface Read {
  readonly keyIds?: readonly number[]
  readonly isByRowId?: boolean
}

async function read(inputs: readonly ChangeScanTask[], { keyIds = [], isByRowId = false }: Read): Promise<string[]> {
  const metadata = tableMetadata({ schemas: [schemaOf(FIELDS)], formatVersion: 3 })
  const fields = [...FIELDS, ...CHANGE_COLUMNS]
  const { rows } = await (
    await lake.engine()
  ).queryRows({
    inputs: [{ name: 't', io: lake.io, metadata, fields, columnsBy: 'name', inputs, changes: { keyIds, isByRowId } }],
    query: "SELECT concat_ws(' ', _change_ordinal, coalesce(k::VARCHAR, 'NULL'), v, _change_type) FROM t",
    columns: [{ name: 'c', engineType: 'VARCHAR', type: { kind: 'string' } }],
    bounds: { maxRows: 10_000, maxBytes: 1 << 24, maxTextLength: 1000, seconds: 60, memoryBytes: 256 * 2 ** 20 },
  })
  return rows.map(([text]) => String(text)).sort()
}

const KEYS = ['NULL', "'NaN'", "'-0.0'", "'0.0'", '1.5', '-7', '9007199254740993']
const shownKey = (k: string): string =>
  k
    .replaceAll("'", '')
    .replace('NaN', 'nan')
    .replace(/^(-?\d+)$/, '$1.0')

/** Rows with different keys before a snapshot, and the same with some gone, changed or new. */
function randomSides(random: Random): { readonly before: Row[]; readonly after: Row[] } {
  const used = KEYS.filter((k) => k !== '9007199254740993')
  const before = used.filter(() => random(4) > 0).map((k, at) => ({ k, v: `v${random(2)}`, rowId: at }))
  const kept = before.filter(() => random(4) > 0).map((row) => (random(2) === 0 ? row : { ...row, v: `v${random(3)}` }))
  const added = used.filter((k) => !before.some((row) => row.k === k) && random(2) === 0)
  return { before, after: [...kept, ...added.map((k, at) => ({ k, v: 'new', rowId: 100 + at }))] }
}

function expectedUpdates(
  ordinal: number,
  { before, after }: { readonly before: Row[]; readonly after: Row[] },
): string[] {
  const text = ({ k, v }: Row, type: string): string => `${ordinal} ${shownKey(k)} ${v} ${type}`
  const gone = before.flatMap((old) => {
    const now = after.find(({ k }) => k === old.k)
    if (now === undefined) return [text(old, 'delete')]
    return now.v === old.v ? [] : [text(old, 'update_before'), text(now, 'update_after')]
  })
  return [...gone, ...after.filter(({ k }) => !before.some((old) => old.k === k)).map((row) => text(row, 'insert'))]
}

it('a file that is added with position deletes and removed later has its deletes on both sides', async () => {
  const rows = ['1', '2', '3'].map((k, at) => ({ k, v: 'v', rowId: at }))
  const added = await fileOf(rows, { ordinal: 0, side: 'after', isPaired: false })
  const deletes = [await lake.positionDeletes([[added.dataFile.filePath, 0]])]
  const removed = { ...added, deletes, change: { ...added.change, ordinal: 1, side: 'before' as const } }
  const all = ['0 2.0 v insert', '0 3.0 v insert', '1 2.0 v delete', '1 3.0 v delete']
  expect(await read([{ ...added, deletes }, removed], {})).toEqual(all)
})

describe('updated rows', () => {
  it.each(Array.from({ length: runs(60) }, (_, at) => at + 1))(
    'are found by key and by row id in random snapshots, with seed %i',
    async (seed) => {
      const random = createRandom(seed)
      const tasks: ChangeScanTask[] = []
      const expected: string[] = []
      for (let ordinal = 0; ordinal < 3; ordinal += 1) {
        const sides = randomSides(random)
        expected.push(...expectedUpdates(ordinal, sides))
        for (const side of ['before', 'after'] as const) {
          const rows = sides[side]
          const cut = random(rows.length + 1)
          for (const part of [rows.slice(0, cut), rows.slice(cut)]) {
            if (part.length > 0) tasks.push(await fileOf(part, { ordinal, side, isPaired: false }))
          }
        }
      }
      expect(await read(tasks, { keyIds: [1] })).toEqual(expected.toSorted())
      expect(await read(tasks, { isByRowId: true })).toEqual(expected.toSorted())
    },
  )

  it('are found in a file with other deletes than before', async () => {
    const rows = ['1', '2', '3', '4'].map((k, at) => ({ k, v: 'old', rowId: at }))
    const before = await fileOf(rows, { ordinal: 0, side: 'before', isPaired: true })
    const path = before.dataFile.filePath
    const first = await lake.positionDeletes([[path, 0]])
    const second = await lake.positionDeletes([
      [path, 1],
      [path, 2],
    ])
    const after = { ...before, deletes: [first, second], change: { ...before.change, side: 'after' as const } }
    const pair: ChangeScanTask[] = [{ ...before, deletes: [first] }, after]
    const added = await fileOf([{ k: '2', v: 'new', rowId: 1 }], { ordinal: 0, side: 'after', isPaired: false })
    const updated = ['0 2.0 new update_after', '0 2.0 old update_before', '0 3.0 old delete']
    expect(await read([...pair, added], { keyIds: [1] })).toEqual(updated)
    expect(await read([...pair, added], { isByRowId: true })).toEqual(updated)
    // deletes that are gone show their rows again
    const restored: ChangeScanTask[] = [
      { ...before, deletes: [first, second] },
      { ...after, deletes: [first] },
    ]
    expect(await read(restored, {})).toEqual(['0 2.0 old insert', '0 3.0 old insert'])
  })

  it('are not found for rows without an id', async () => {
    const old = await fileOf([{ k: '1', v: 'a', rowId: undefined }], { ordinal: 0, side: 'before', isPaired: false })
    const now = await fileOf([{ k: '1', v: 'b', rowId: undefined }], { ordinal: 0, side: 'after', isPaired: false })
    expect(await read([old, now], { isByRowId: true })).toEqual(['0 1.0 a delete', '0 1.0 b insert'])
  })

  it('has a row of its own for each of several inserted rows with the key of a deleted one', async () => {
    const old = await fileOf([{ k: '1', v: 'a', rowId: 0 }], { ordinal: 0, side: 'before', isPaired: false })
    const rows = ['b', 'b'].map((v, at) => ({ k: '1', v, rowId: 10 + at }))
    const now = await fileOf(rows, { ordinal: 0, side: 'after', isPaired: false })
    expect(await read([old, now], { keyIds: [1] })).toEqual([
      '0 1.0 a update_before',
      '0 1.0 b insert',
      '0 1.0 b update_after',
    ])
  })

  it('is refused for a key of several deleted rows, also in a snapshot that only deletes', async () => {
    const rows = ['a', 'b'].map((v, at) => ({ k: '1', v, rowId: at }))
    const old = await fileOf(rows, { ordinal: 0, side: 'before', isPaired: false })
    await expect(read([old], { keyIds: [1] })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('the key k does not identify rows: snapshot 0 deletes several rows'),
    })
    expect(await read([old], {})).toHaveLength(2)
  })
})
