import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDuckDbEngine } from '../../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { isIcebergError } from '../../src/iceberg/errors.ts'
import { currentSchema, schemaOf } from '../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import type { FileScanTask } from '../../src/iceberg/scan/scan.ts'
import type { Table } from '../../src/iceberg/metadata/table.ts'
import { expectedRows, fixturesAvailable, openFixture, type ExpectedRows } from './fixture-tables.ts'
import { LONG } from '../support/effort.ts'

const available = fixturesAvailable('tables that other systems wrote')

/** Fixtures with an expected row count that we refuse to read, each with the reason. */
const REFUSED: Readonly<Record<string, { readonly code: string; readonly reason: RegExp }>> = {
  'duckdb-iceberg/legacy_bare_deletion_vector/warehouse/default/legacy_bare_deletion_vector': {
    code: 'CORRUPT_FILE',
    reason: /puffin|deletion vector/i, // docs/iceberg-notes.md#deletion-vectors
  },
  'impala/iceberg_v3/trino_variant': { code: 'UNSUPPORTED', reason: /variant/i }, // VARIANT cannot be read faithfully
}

/** More row counts, from the tables' own summaries or the documentation of the other projects. */
const ALSO_EXPECTED: readonly ExpectedRows[] = [
  also('impala/hadoop_catalog/ice/airports_parquet', 'v2.metadata.json', 3376),
  also(
    'impala/hadoop_catalog/iceberg_resolution_test/functional_parquet/iceberg_resolution_test',
    'v2.metadata.json',
    20,
  ),
  also('impala/hadoop_catalog/hadoop_catalog_test/functional_parquet/hadoop_catalog_test', 'v2.metadata.json', 20),
  also('duckdb-iceberg/iceberg/lineitem_iceberg_gz', 'v2.gz.metadata.json', 111_968),
  also('duckdb-iceberg/iceberg/lineitem_iceberg_gz_no_hint', 'v2.gz.metadata.json', 111_968),
  also('duckdb-iceberg/iceberg/lineitem_iceberg_no_hint', 'v2.metadata.json', 51_793),
  also(
    'duckdb-iceberg/column_mapping/warehouse/default.db/my_table',
    '00001-75643dae-a7a7-46ae-ab30-ea80d3793f3f.metadata.json',
    3,
  ),
  also('impala/iceberg_with_puffin_stats', 'v3.metadata.json', 2),
  also('impala/hadoop_catalog/ice/iceberg_timestamp_part', 'v2.metadata.json', 6),
  also('impala/hadoop_catalog/ice/iceberg_timestamptz_part', 'v2.metadata.json', 7),
  also('impala/hadoop_catalog/ice/iceberg_legacy_partition_schema_evolution', 'v2.metadata.json', 2),
]

/** Tables that must be refused before anything is read or written. */
const MUST_REFUSE: readonly (readonly [path: string, metadata: string, reason: RegExp])[] = [
  ['impala/hadoop_catalog/ice/airports_orc', 'v2.metadata.json', /orc/i],
  ['impala/hadoop_catalog/ice/iceberg_v2_no_deletes_orc', 'v2.metadata.json', /orc/i],
  ['impala/hadoop_catalog/ice/complextypestbl_iceberg_orc', 'v2.metadata.json', /orc/i],
  ['impala/iceberg_migrated_alter_test_orc', 'v2.metadata.json', /orc/i],
  ['impala/iceberg_mixed_file_format_test', 'v8.metadata.json', /orc/i],
  ['impala/iceberg_v3/iceberg_v3_default_value_orc', 'v4.metadata.json', /orc/i],
  ['impala/iceberg_v3/iceberg_v3_row_lineage_orc', 'v5.metadata.json', /orc/i],
  ['impala/hadoop_catalog/ice/iceberg_with_key_metadata', 'v2.metadata.json', /encrypt|key.?metadata/i],
  // Its Parquet file has a group with the logical type Null, which is invalid; PyArrow does not open it either.
  ['impala/iceberg_migrated_complex_test', 'v2.metadata.json', /struct_1_col/],
  ['impala/iceberg_v3/trino_nested_variant', 'v2.metadata.json', /variant/i],
]

const isLarge = ({ expected_rows: rows }: ExpectedRows): boolean => rows > 15_000

/** Small tables are always read, large ones only in a long run. */
const BY_SIZE = [
  [(entry: ExpectedRows): boolean => !isLarge(entry), {}],
  [isLarge, LONG],
] as const

describe.skipIf(!available)('tables that other systems wrote', () => {
  let engine: Engine
  let scratch: string
  const failures: string[] = []

  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'fixtures-'))
    engine = await createDuckDbEngine({ scratchDir: scratch })
  })

  afterAll(async () => {
    await engine.close()
    rmSync(scratch, { recursive: true, force: true })
    const total = expectedRows().length
    process.stdout.write(`\nfixtures: ${total - failures.length} of ${total} peers' assertions hold\n`)
    for (const failure of failures) process.stdout.write(`  not held: ${failure}\n`)
  })

  for (const [isSelected, options] of BY_SIZE) {
    const titled = (entries: readonly ExpectedRows[]) =>
      entries.filter(isSelected).map((entry) => [title(entry), entry] as const)

    it.each(titled(expectedRows()))('%s', options, async (name, entry) => {
      try {
        await checkEntry(engine, entry)
      } catch (error) {
        failures.push(`${name}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`)
        throw error
      }
    })

    it.each(titled(ALSO_EXPECTED))('%s (own summary)', options, async (_, entry) => {
      await checkEntry(engine, entry)
    })
  }

  it.each(MUST_REFUSE)('%s is refused', async (path, metadataFile, reason) => {
    await expectRefusal(engine, openFixture(path, metadataFile), { code: 'UNSUPPORTED', reason })
  })
})

describe.skipIf(!available)('values of tables that other systems wrote', () => {
  let engine: Engine
  let scratch: string

  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'fixtures-'))
    engine = await createDuckDbEngine({ scratchDir: scratch })
  })

  afterAll(async () => {
    await engine.close()
    rmSync(scratch, { recursive: true, force: true })
  })

  async function values(path: string, metadataFile: string): Promise<unknown[][]> {
    const table = openFixture(path, metadataFile)
    const rows = await readAll(engine, table, await planFiles(table))
    return rows.map((row) => Object.values(row)).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }

  const ice = 'impala/hadoop_catalog/ice'

  it('an upsert keeps the new version of a row', async () => {
    const rows = await values(`${ice}/iceberg_v2_delete_equality`, 'v4.metadata.json')
    expect(rows.map((row) => row.slice(0, 2).map(String))).toEqual([
      ['1', 'test_1_base'],
      ['2', 'test_2_updated'],
    ])
  })

  it('position deletes whose path has another scheme apply', async () => {
    const rows = await values(`${ice}/iceberg_v2_delete_both_eq_and_pos`, 'v4.metadata.json')
    expect(rows.map((row) => row.slice(0, 2).map(String))).toEqual([
      ['2', 'str2_updated'],
      ['3', 'str3'],
    ])
  })

  it.each([
    ['iceberg_v2_delete_equality_multi_eq_ids', 'v5.metadata.json', ['1', '2222', '33', '4', '5']],
    ['iceberg_v2_delete_pos_and_multi_eq_ids', 'v5.metadata.json', ['1', '333333', '4', '5']],
    ['iceberg_v2_equality_delete_schema_evolution', 'v6.metadata.json', ['1', '44', '5']],
  ])('%s keeps the correct ids', async (name, metadataFile, ids) => {
    const rows = await values(`${ice}/${name}`, metadataFile)
    expect(rows.map((row) => String(row[0])).sort((a, b) => (a < b ? -1 : 1))).toEqual(ids)
  })

  it('deletion vectors hide the correct rows', async () => {
    const rows = await values('impala/iceberg_v3/iceberg_v3_deletion_vectors', 'v3.metadata.json')
    expect(rows.map((row) => String(row[0])).sort()).toEqual(['1', '3', '5'])
  })

  it.each(['iceberg_v3_default_value', 'iceberg_v3_default_value_avro'])(
    '%s: old rows have the initial-default',
    async (name) => {
      const rows = await values(`impala/iceberg_v3/${name}`, 'v4.metadata.json')
      expect(rows.map((row) => row.map(String)).sort()).toEqual([
        ['1', '-1'],
        ['2', '2'],
      ])
    },
  )

  it('a column with a default keeps its values through partition evolution', async () => {
    const rows = await values('impala/iceberg_v3/test_default_part', 'v6.metadata.json')
    const byId = new Map(rows.map((row) => [String(row[0]), row[1] === null ? null : String(row[1])]))
    expect(Object.fromEntries(byId)).toEqual({ 1: '-1', 2: '-1', 3: '5', 4: '10', 5: null })
  })

  it('columns whose names differ only in case keep their own values', async () => {
    const table = openFixture(
      'duckdb-iceberg/case_sensitive_names/default.db/case_sensitive_names',
      '00001-a7a3a44c-4aac-4619-bebd-11be37b27351.metadata.json',
    )
    const rows = await readAll(engine, table, await planFiles(table))
    expect(rows).toHaveLength(3)
    for (const row of rows) {
      expect(Object.keys(row)).toEqual(currentSchema(table.metadata).fields.map((field) => field.name))
      expect(row['user_id']).not.toEqual(row['uSeR_Id'])
    }
  })
})

function also(path: string, metadata: string, rows: number): ExpectedRows {
  return { path, metadata, snapshot: null, expected_rows: rows, asserted_by: 'the table itself' }
}

function title(entry: ExpectedRows): string {
  const at = entry.snapshot === null ? '' : ` @${entry.snapshot}`
  return `${entry.path}${at} has ${entry.expected_rows} rows`
}

async function checkEntry(engine: Engine, entry: ExpectedRows): Promise<void> {
  const table = openFixture(entry.path, entry.metadata)
  const refusal = REFUSED[entry.path]
  if (refusal) return expectRefusal(engine, table, refusal)
  const options = entry.snapshot === null ? {} : { snapshotId: BigInt(entry.snapshot) }
  const tasks = await planFiles(table, options)
  if (entry.data_files !== undefined) expect(tasks, 'live data files').toHaveLength(entry.data_files)
  const schema = schemaOf(table.metadata, options.snapshotId)
  const task = { io: table.io, metadata: table.metadata, schema, inputs: tasks }
  expect(await engine.countRows(task), 'counted').toBe(entry.expected_rows)
  expect(await readAll(engine, table, tasks, schema), 'read').toHaveLength(entry.expected_rows)
}

async function readAll(
  engine: Engine,
  table: Table,
  inputs: readonly FileScanTask[],
  schema = currentSchema(table.metadata),
): Promise<Readonly<Record<string, unknown>>[]> {
  const rows: Readonly<Record<string, unknown>>[] = []
  for await (const row of engine.readRows({ io: table.io, metadata: table.metadata, schema, inputs })) rows.push(row)
  return rows
}

async function expectRefusal(
  engine: Engine,
  table: Table,
  refusal: { readonly code: string; readonly reason: RegExp },
): Promise<void> {
  const outcome = await planFiles(table)
    .then((tasks) => readAll(engine, table, tasks))
    .then(
      (rows) => `${rows.length} rows were read`,
      (error: unknown) => error,
    )
  if (!isIcebergError(outcome)) throw new Error(`not refused as it should be: ${String(outcome)}`, { cause: outcome })
  expect(outcome.code).toBe(refusal.code)
  expect(outcome.message).toMatch(refusal.reason)
}
