import { relative } from 'node:path'

import { describe, expect, it } from 'vitest'

import { readManifestList } from '../../../src/iceberg/manifest/manifest-list.ts'
import { readManifest, readManifestTotals } from '../../../src/iceberg/manifest/reader.ts'
import type { DataFile, ManifestEntry, ManifestFile } from '../../../src/iceberg/manifest/manifest.ts'
import { readWithAvsc } from '../avro/avsc-oracle.ts'
import type { OracleSchema } from '../avro/avsc-oracle.ts'
import { fixtureFiles, fixtures, haveFixtures, reachableManifests, read } from './fixture-files.ts'

const named = (paths: readonly string[]) => paths.map((path) => ({ path, name: relative(fixtures, path) }))
const listFiles = fixtureFiles(/(snap-|manifest-list-v2)[^/]*\.avro$/)
const manifestFiles = fixtureFiles(/\/metadata\/(?!snap-)[^/]*\.avro$/)
const reachable = reachableManifests().map((found) => ({ ...found, name: relative(fixtures, found.path) }))

describe.skipIf(!haveFixtures)('manifest lists of other systems', () => {
  it('are all present', () => {
    expect(listFiles.length).toBeGreaterThanOrEqual(138)
  })

  it.each(named(listFiles))('$name', async ({ path }) => {
    const oracle = await readById(path)
    const lines = readManifestList(read(path))
    expect(lines.map(describeLine)).toEqual(oracle.map(describeOracleLine))
  })

  it('have counts under any field names', () => {
    const lines = listFiles.flatMap((path) => readManifestList(read(path)))
    expect(lines.filter((line) => line.addedFilesCount === undefined)).toEqual([])
  })
})

/** Its manifests were rewritten by hand for a test of Impala; the lists still have the old counts. */
const HAND_EDITED = 'iceberg_v2_null_delete_record'

describe.skipIf(!haveFixtures)('manifests of other systems', () => {
  it('are nearly all reachable from a table', () => {
    expect(manifestFiles.length).toBeGreaterThanOrEqual(167)
    expect(reachable.length).toBeGreaterThanOrEqual(160)
  })

  it.each(reachable)('$name', async ({ path, manifest, metadata }) => {
    const bytes = read(path)
    const oracle = await readById(path)
    const entries = readManifest(bytes, { manifest, metadata })
    expect(entries.map(describeEntry)).toEqual(oracle.map((_, index) => describeOracleEntry(oracle, index, manifest)))

    const projected = readManifest(bytes, { manifest, metadata, project: 'no-metrics' })
    expect(projected).toEqual(entries.map(withoutMetrics))
    expectTotals(entries, readManifestTotals(bytes, { manifest, metadata }))
    expectTotals(entries, readManifestTotals(bytes))
    if (!path.includes(HAND_EDITED)) expectCounts(entries, manifest)
  })

  it.each(named(manifestFiles))('adds up without a table: $name', async ({ path }) => {
    const totals = readManifestTotals(read(path))
    const oracle = await readById(path)
    const live = oracle.filter((entry) => entry[0] !== 2).map((entry) => entry[2] as Fields)
    expect(totals.sizes.length).toBe(live.filter((file) => (file[134] ?? 0) === 0).length)
    const parts = [...totals.partitionKeys.values()]
    expect(parts.reduce((sum, part) => sum + part.files + part.deleteFiles, 0)).toBe(live.length)
  })
})

/** An Avro record with its fields by Iceberg field id. */
type Fields = Record<number, unknown>

async function readById(path: string): Promise<Fields[]> {
  const { schema, records } = await readWithAvsc(read(path))
  return records.map((record) => byId(record, schema) as Fields)
}

/** Renames record members to field ids, taking the ids from the file's schema. */
function byId(value: unknown, type: unknown): unknown {
  if (Array.isArray(type))
    return value === null
      ? null
      : byId(
          value,
          type.find((branch) => branch !== 'null'),
        )
  const schema = Object(type) as OracleSchema & { items?: unknown; logicalType?: string }
  if (schema.type === 'array' && Array.isArray(value) && schema.logicalType !== 'map') {
    return value.map((item) => byId(item, schema.items))
  }
  if (schema.type !== 'record') return value
  const fields = schema.fields?.map((field) => [field['field-id'], byId(Object(value)[field.name], field.type)]) ?? []
  return Object.fromEntries(fields)
}

function describeLine(line: ManifestFile) {
  return { ...line, partitions: line.partitions?.map((summary) => ({ ...summary })) }
}

function describeOracleLine(line: Fields) {
  const partitions = line[507] as Fields[] | null | undefined
  return {
    manifestPath: line[500],
    manifestLength: count(line[501]),
    partitionSpecId: line[502],
    content: line[517] === 1 ? 'deletes' : 'data',
    sequenceNumber: count(line[515]) ?? 0,
    minSequenceNumber: count(line[516]) ?? 0,
    addedSnapshotId: line[503],
    addedFilesCount: count(line[504]),
    existingFilesCount: count(line[505]),
    deletedFilesCount: count(line[506]),
    addedRowsCount: count(line[512]),
    existingRowsCount: count(line[513]),
    deletedRowsCount: count(line[514]),
    partitions: partitions?.map((summary) => ({
      containsNull: summary[509],
      containsNan: summary[518] ?? undefined,
      lowerBound: summary[510] ?? undefined,
      upperBound: summary[511] ?? undefined,
    })),
    keyMetadata: line[519] ?? undefined,
    firstRowId: count(line[520]),
  }
}

function describeEntry(entry: ManifestEntry) {
  return { ...entry, dataFile: { ...entry.dataFile, partition: entry.dataFile.partition.map(String) } }
}

/** What the spec says the entry means, worked out from the raw record. */
function describeOracleEntry(entries: readonly Fields[], index: number, manifest: ManifestFile) {
  const entry = entries[index] ?? {}
  const file = entry[2] as Fields
  const status = ['existing', 'added', 'deleted'][entry[0] as number]
  const sequenceNumber = count(entry[3]) ?? manifest.sequenceNumber
  return {
    status,
    snapshotId: entry[1] ?? manifest.addedSnapshotId,
    sequenceNumber,
    fileSequenceNumber: count(entry[4]) ?? (status === 'added' ? manifest.sequenceNumber : sequenceNumber),
    dataFile: {
      content: ['data', 'position-deletes', 'equality-deletes'][(file[134] as number | undefined) ?? 0],
      filePath: file[100],
      fileFormat: String(file[101]).toLowerCase(),
      specId: manifest.partitionSpecId,
      partition: Object.values(file[102] as Fields).map(partitionText),
      recordCount: count(file[103]),
      fileSizeInBytes: count(file[104]),
      columnSizes: counts(file[108]),
      valueCounts: counts(file[109]),
      nullValueCounts: counts(file[110]),
      nanValueCounts: counts(file[137]),
      lowerBounds: bounds(file[125]),
      upperBounds: bounds(file[128]),
      keyMetadata: file[131] ?? undefined,
      splitOffsets: (file[132] as unknown[] | null | undefined)?.map(Number),
      equalityIds: (file[135] as unknown[] | null | undefined)?.map(Number),
      sortOrderId: count(file[140]),
      firstRowId: rowIdOf(entries, index, manifest),
      referencedDataFile: file[143] ?? undefined,
      contentOffset: count(file[144]),
      contentSizeInBytes: count(file[145]),
    },
  }
}

/** The row id that an entry has, or inherits: after the rows of all live entries before it that inherit too. */
function rowIdOf(entries: readonly Fields[], index: number, manifest: ManifestFile): number | undefined {
  if (manifest.firstRowId === undefined) return undefined
  const inherits = (entry: Fields) => entry[0] !== 2 && ((entry[2] as Fields)[142] ?? undefined) === undefined
  const entry = entries[index] ?? {}
  if (!inherits(entry)) return count((entry[2] as Fields)[142])
  const before = entries.slice(0, index).filter(inherits)
  return before.reduce((sum, other) => sum + Number((other[2] as Fields)[103]), manifest.firstRowId)
}

/** Decimals are the only partition values in the fixtures that Avro stores as bytes. */
function partitionText(value: unknown): string {
  if (!(value instanceof Uint8Array)) return String(value)
  const hex = Buffer.from(value).toString('hex')
  return String(BigInt.asIntN(value.length * 8, BigInt(`0x${hex}`)))
}

const count = (value: unknown) => (value === null || value === undefined ? undefined : Number(value))
type Pair<V> = { readonly key: number; readonly value: V }

function counts(pairs: unknown): ReadonlyMap<number, number> | undefined {
  if (!Array.isArray(pairs)) return undefined
  return new Map(pairs.map(({ key, value }: Pair<bigint>) => [key, Number(value)]))
}

function bounds(pairs: unknown): ReadonlyMap<number, Uint8Array> | undefined {
  if (!Array.isArray(pairs)) return undefined
  return new Map(pairs.map(({ key, value }: Pair<Uint8Array>) => [key, value]))
}

function withoutMetrics(entry: ManifestEntry): ManifestEntry {
  const { columnSizes: _a, valueCounts: _b, nullValueCounts: _c, nanValueCounts: _d, ...rest } = entry.dataFile
  const { lowerBounds: _e, upperBounds: _f, ...dataFile } = rest
  return { ...entry, dataFile }
}

function expectTotals(entries: readonly ManifestEntry[], totals: ReturnType<typeof readManifestTotals>): void {
  const live = entries.filter((entry) => entry.status !== 'deleted').map((entry) => entry.dataFile)
  const of = (wanted: (file: DataFile) => boolean) => {
    const files = live.filter(wanted)
    return {
      count: files.length,
      bytes: files.reduce((sum, file) => sum + (file.contentSizeInBytes ?? file.fileSizeInBytes), 0),
      records: files.reduce((sum, file) => sum + file.recordCount, 0),
    }
  }
  expect(totals.dataFiles).toEqual(of((file) => file.content === 'data'))
  expect(totals.equalityDeletes).toEqual(of((file) => file.content === 'equality-deletes'))
  const positions = (file: DataFile) => file.content === 'position-deletes'
  expect(totals.positionDeletes).toEqual(of((file) => positions(file) && file.fileFormat !== 'puffin'))
  expect(totals.deletionVectors).toEqual(of((file) => positions(file) && file.fileFormat === 'puffin'))
  expect([...totals.sizes]).toEqual(live.filter((file) => file.content === 'data').map((file) => file.fileSizeInBytes))
  expect(totals.partitionKeys.size).toBe(new Set(live.map((file) => file.partition.map(String).join('|'))).size)
}

function expectCounts(entries: readonly ManifestEntry[], manifest: ManifestFile): void {
  const of = (status: string) => entries.filter((entry) => entry.status === status).length
  expect([of('added'), of('existing'), of('deleted')]).toEqual([
    manifest.addedFilesCount,
    manifest.existingFilesCount,
    manifest.deletedFilesCount,
  ])
}
