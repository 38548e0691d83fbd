import { describe, expect, it } from 'vitest'
import { DeleteIndex } from '../../../src/iceberg/scan/delete-index.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import { partitionSpecToJson } from '../../../src/iceberg/partitioning/partitioning.ts'
import type { PartitionTuple } from '../../../src/iceberg/partitioning/partitioning.ts'
import { applyUpdates } from '../../../src/iceberg/update/apply/apply-updates.ts'
import { byPart, fixtureSchema } from '../../support/table-fixture.ts'

const PATH_ID = 2_147_483_546

/** Spec 0 by `part`, spec 1 unpartitioned, spec 2 by `part` under another name. */
function metadata(): TableMetadata {
  const base = createTableMetadata({
    schema: fixtureSchema,
    partitionSpec: byPart,
    location: 'mem:/t',
    uuid: '00000000-0000-4000-8000-000000000001',
    nowMs: 1,
  })
  const again = {
    ...byPart,
    specId: 2,
    fields: byPart.fields.map((field) => ({ ...field, name: 'p2', fieldId: 1001 })),
  }
  return applyUpdates(
    base,
    [
      { action: 'add-spec', spec: partitionSpecToJson({ specId: 1, fields: [] }) },
      { action: 'add-spec', spec: partitionSpecToJson(again) },
    ],
    { nowMs: 2 },
  )
}

interface FileSpec {
  readonly content: DataFile['content']
  readonly at?: string
  readonly spec?: number
  readonly partition?: PartitionTuple
  readonly more?: Partial<DataFile>
}

let files = 0
function file({ content, at, spec = 0, partition = [1], more = {} }: FileSpec): DataFile {
  return {
    content,
    filePath: at ?? `mem:/t/data/${files++}`,
    fileFormat: 'parquet',
    specId: spec,
    partition: spec === 1 ? [] : partition,
    recordCount: 1,
    fileSizeInBytes: 1,
    ...(content === 'equality-deletes' ? { equalityIds: [1] } : {}),
    ...more,
  }
}

function applies(deleteFile: DataFile, deleteSequence: number, dataFile: DataFile, dataSequence: number): boolean {
  const index = new DeleteIndex(metadata(), [{ file: deleteFile, sequenceNumber: deleteSequence }])
  return index.deletesFor(dataFile, dataSequence).length > 0
}

const path = (text: string): ReadonlyMap<number, Uint8Array> => new Map([[PATH_ID, new TextEncoder().encode(text)]])

describe('which deletes apply to a data file', () => {
  const data = file({ content: 'data', at: 'mem:/t/data/a.parquet' })

  it('depends on sequence numbers: position deletes of the same commit apply, equality deletes do not', () => {
    const position = file({ content: 'position-deletes' })
    const equality = file({ content: 'equality-deletes' })
    const vector = file({
      content: 'position-deletes',
      more: { fileFormat: 'puffin', referencedDataFile: data.filePath },
    })
    expect([4, 5, 6].map((sequence) => applies(position, sequence, data, 5))).toEqual([false, true, true])
    expect([4, 5, 6].map((sequence) => applies(equality, sequence, data, 5))).toEqual([false, false, true])
    expect([5, 6].map((sequence) => applies(vector, sequence, data, 5))).toEqual([true, true])
    expect(() => applies(vector, 4, data, 5)).toThrow('older than the file')
  })

  it('depends on spec and partition, except for global equality deletes', () => {
    const cases: readonly [FileSpec, boolean][] = [
      [{ content: 'equality-deletes', partition: [1] }, true],
      [{ content: 'equality-deletes', partition: [2] }, false],
      [{ content: 'equality-deletes', partition: [null] }, false],
      [{ content: 'equality-deletes', spec: 2, partition: [1] }, false],
      [{ content: 'equality-deletes', spec: 1 }, true],
      [{ content: 'position-deletes', partition: [1] }, true],
      [{ content: 'position-deletes', partition: [2] }, false],
      [{ content: 'position-deletes', spec: 2, partition: [1] }, false],
      [{ content: 'position-deletes', spec: 1 }, false],
    ]
    for (const [spec, expected] of cases) expect(applies(file(spec), 9, data, 5), JSON.stringify(spec)).toBe(expected)
  })

  it('depends on the path for deletes of one file, however the path is spelled', () => {
    const at = 'hdfs://host:8020/t/data/a.parquet'
    const onHdfs = file({ content: 'data', at })
    const onS3 = file({ content: 'data', at: 's3://bucket/t/data/a.parquet' })
    const of = (text: string): DataFile =>
      file({ content: 'position-deletes', partition: [7], more: { lowerBounds: path(text), upperBounds: path(text) } })
    expect(applies(of(at), 9, onHdfs, 5)).toBe(true)
    expect(applies(of('/t/data/a.parquet'), 9, onHdfs, 5)).toBe(true)
    expect(applies(of('hdfs:/t/data/a.parquet'), 9, onHdfs, 5)).toBe(true)
    expect(applies(of('hdfs://other:8020/t/data/a.parquet'), 9, onHdfs, 5)).toBe(false)
    expect(applies(of('/t/data/b.parquet'), 9, onHdfs, 5)).toBe(false)
    expect(applies(of('s3a://bucket/t/data/a.parquet'), 9, onS3, 5)).toBe(true)
    expect(applies(of('s3://elsewhere/t/data/a.parquet'), 9, onS3, 5)).toBe(false)
    const wide = { lowerBounds: path('/t/data/a'), upperBounds: path('/t/data/b') }
    expect(applies(file({ content: 'position-deletes', partition: [7], more: wide }), 9, onHdfs, 5)).toBe(false)
    expect(applies(file({ content: 'position-deletes', partition: [1], more: wide }), 9, onHdfs, 5)).toBe(true)
    const named = { referencedDataFile: '/t/data/a.parquet' }
    expect(applies(file({ content: 'position-deletes', partition: [7], more: named }), 9, onHdfs, 5)).toBe(true)
  })

  it('drops position deletes where a deletion vector applies, and keeps equality deletes', () => {
    const vector = { fileFormat: 'puffin', referencedDataFile: data.filePath }
    const refs = [
      { file: file({ content: 'position-deletes' }), sequenceNumber: 8 },
      { file: file({ content: 'equality-deletes', spec: 1 }), sequenceNumber: 7 },
      { file: file({ content: 'position-deletes', more: vector }), sequenceNumber: 6 },
      { file: file({ content: 'position-deletes', more: { referencedDataFile: data.filePath } }), sequenceNumber: 9 },
      { file: file({ content: 'equality-deletes' }), sequenceNumber: 9 },
    ]
    const index = new DeleteIndex(metadata(), refs)
    expect(index.deletesFor(data, 5)).toEqual([refs[1], refs[4], refs[2]])
    const other = file({ content: 'data', at: 'mem:/t/data/b.parquet' })
    expect(index.deletesFor(other, 8)).toEqual([refs[4], refs[0]])
    expect(index.deletesFor(other, 9)).toEqual([])
  })

  it('is refused where the table contradicts the format', () => {
    const vector = (at: string): DataFile =>
      file({ content: 'position-deletes', more: { fileFormat: 'puffin', referencedDataFile: at } })
    const make = (deletes: readonly DataFile[]) => () =>
      new DeleteIndex(
        metadata(),
        deletes.map((of) => ({ file: of, sequenceNumber: 3 })),
      )
    const invalid = expect.objectContaining({ code: 'INVALID_METADATA' })
    expect(make([vector('mem:/t/data/a'), vector('/t/data/a')])).toThrow(invalid)
    expect(make([file({ content: 'position-deletes', more: { fileFormat: 'puffin' } })])).toThrow(invalid)
    expect(make([file({ content: 'equality-deletes', more: { equalityIds: [] } })])).toThrow(invalid)
    expect(make([file({ content: 'equality-deletes', spec: 9 })])).toThrow(invalid)
    expect(make([data])).toThrow(invalid)
    expect(make([vector('mem:/t/data/a'), vector('mem:/t/data/b')])).not.toThrow()
  })

  it('shares lists between files, so that many files cost little', () => {
    const refs = Array.from({ length: 50 }, (_, i) => ({
      file: file({ content: 'equality-deletes' }),
      sequenceNumber: i + 1,
    }))
    const index = new DeleteIndex(metadata(), refs)
    const other = file({ content: 'data' })
    expect(index.deletesFor(data, 10)).toBe(index.deletesFor(other, 10))
    expect(index.deletesFor(data, 10)).toHaveLength(40)
  })
})
