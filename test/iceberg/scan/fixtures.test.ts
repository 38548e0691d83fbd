import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { PrefixFileIO } from '../../../src/iceberg/io/prefix.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import { parseTableMetadata, snapshotById } from '../../../src/iceberg/metadata/metadata.ts'
import { isDeletionVector } from '../../../src/iceberg/puffin/deletion-vector.ts'
import { loadDeletes, planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { fixturesRoot, haveFixtures } from '../../support/iceberg-fixtures.ts'

interface Expectation {
  readonly path: string
  readonly metadata: string
  readonly snapshot: string | null
  readonly data_files: number
  readonly pos_delete_files: number
  readonly eq_delete_files: number
  readonly dvs: number
}

const expectations: readonly Expectation[] = haveFixtures
  ? JSON.parse(readFileSync(join(fixturesRoot, 'expected.json'), 'utf8'))
  : []

function openFixture({ path, metadata: name }: Expectation): Table {
  const folder = join(fixturesRoot, path)
  const metadataLocation = join(folder, 'metadata', name)
  const metadata = parseTableMetadata(readFileSync(metadataLocation))
  const impala = join(fixturesRoot, 'impala')
  // most tables stand elsewhere than their locations say
  const mappings = [
    { from: metadata.location, to: folder },
    { from: metadata.location.replace(/^\.\//, ''), to: folder },
    { from: '/test-warehouse/iceberg_test', to: impala },
    { from: 'hdfs://localhost:20500/test-warehouse/iceberg_test', to: impala },
  ]
  return {
    identifier: { namespace: [], name: path },
    metadataLocation,
    metadata,
    io: new PrefixFileIO(new LocalFileIO(), mappings),
  }
}

describe.skipIf(!haveFixtures)('planFiles on tables of other systems', () => {
  it.each(expectations.map((expectation) => [`${expectation.path} @ ${expectation.snapshot}`, expectation] as const))(
    '%s',
    async (_, expected) => {
      const table = openFixture(expected)
      const snapshotId = expected.snapshot === null ? table.metadata.currentSnapshotId : BigInt(expected.snapshot)
      if (snapshotId === undefined) throw new Error('no snapshot')
      const tasks = await planFiles(table, { snapshotId })
      const snapshot = snapshotById(table.metadata, snapshotId)
      if (snapshot === undefined) throw new Error('no snapshot')
      const deletes = await loadDeletes(table, await loadManifests(table, snapshot))
      const vectors = deletes.filter(({ file }) => isDeletionVector(file)).length
      const position = deletes.filter(({ file }) => file.content === 'position-deletes').length
      expect({
        data_files: tasks.length,
        pos_delete_files: position - vectors,
        eq_delete_files: deletes.length - position,
        dvs: vectors,
      }).toEqual({
        data_files: expected.data_files,
        pos_delete_files: expected.pos_delete_files,
        eq_delete_files: expected.eq_delete_files,
        dvs: expected.dvs,
      })
    },
  )

  const ice = 'impala/hadoop_catalog/ice'
  /** Sequence numbers of the deletes that apply, per data file in manifest order; `p`osition, `e`quality, `v`ector. */
  const applicable: Readonly<Record<string, readonly string[]>> = {
    [`${ice}/iceberg_v2_delete_positional`]: ['p2'],
    [`${ice}/iceberg_v2_positional_not_all_data_files_have_delete_files`]: ['', 'p6', 'p5', ''],
    [`${ice}/iceberg_v2_positional_update_all_rows`]: ['', 'p3'],
    [`${ice}/iceberg_v2_partitioned_position_deletes`]: ['p2', 'p2', 'p2'],
    [`${ice}/iceberg_spark_compaction_with_dangling_delete`]: [''],
    [`${ice}/iceberg_v2_null_delete_record`]: ['p2 p2 p2 p2 p2', 'p2 p2 p2 p2 p2'],
    [`${ice}/iceberg_v2_delete_equality`]: ['', 'e3', 'e2 e3'],
    [`${ice}/iceberg_v2_delete_both_eq_and_pos`]: ['', 'e2 p3'],
    [`${ice}/iceberg_v2_delete_equality_partitioned`]: ['', '', 'e4', 'e3'],
    [`${ice}/iceberg_v2_delete_equality_multi_eq_ids`]: ['', 'e4', 'e3 e4', 'e2 e3 e4'],
    [`${ice}/iceberg_v2_delete_pos_and_multi_eq_ids`]: ['', 'e4', 'e2 e4 p3'],
    [`${ice}/iceberg_v2_equality_delete_schema_evolution`]: ['', 'e2', 'e2 e3', ''],
    [`${ice}/iceberg_v2_delete_equality_partition_evolution`]: ['', 'e2'],
    'impala/iceberg_v3/iceberg_v3_deletion_vectors': ['', 'v2', '', 'v2', ''],
  }

  it.each(Object.entries(applicable))('finds the deletes of each data file of %s', async (path, expected) => {
    const current = expectations.find((expectation) => expectation.path === path && expectation.snapshot === null)
    if (current === undefined) throw new Error('no such fixture')
    const tasks = await planFiles(openFixture(current))
    const kind = (file: DataFile): string => (isDeletionVector(file) ? 'v' : (file.content[0] ?? ''))
    const found = tasks.map(({ deletes }) => deletes.map((ref) => `${kind(ref.file)}${ref.sequenceNumber}`).join(' '))
    expect(found).toEqual(expected)
  })
})
