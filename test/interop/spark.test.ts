import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FilesAnswer, Health, RefsAnswer, SchemaAnswer, SnapshotsAnswer } from './harness/answers.ts'
import { snapshotLines } from './harness/answers.ts'
import { sparkAvailable, SQLITE_JDBC_JAR } from './harness/environment.ts'
import { hashTree } from './harness/file-tree.ts'
import { changedRow, sortedRows, type ColumnChange, type Rows } from './harness/rows.ts'
import { Service, type CatalogSettings } from './harness/service.ts'
import { SparkSession } from './harness/spark.ts'
import { isWholeRun, shareOf } from '../support/effort.ts'

interface SparkFile {
  /** 0 data, 1 position deletes and deletion vectors, 2 equality deletes. */
  readonly content: number
  readonly file_path: string
  readonly file_format: string
  readonly spec_id: number
  readonly record_count: number
  readonly file_size_in_bytes: number
}

interface SparkTable extends Rows {
  readonly format_version: number
  readonly schema: readonly (readonly [name: string, type: string])[]
  /** v3: rows with `_row_id` and `_last_updated_sequence_number`. */
  readonly lineage?: Rows
  readonly next_row_id?: number
  /** Spark's metadata tables; empty when they were not requested. */
  readonly metadata: {
    readonly files: readonly SparkFile[]
    readonly snapshots: readonly { readonly snapshot_id: string; readonly operation: string }[]
    readonly manifests: readonly { readonly path: string; readonly content: number }[]
    readonly entries: readonly {
      readonly status: number
      readonly sequence_number: number
      readonly file_path: string
      readonly content: number
    }[]
    readonly refs: readonly { readonly name: string; readonly type: string; readonly snapshot_id: string }[]
    readonly partitions: number
  }
}

type Dump = Record<string, SparkTable>

const CHANGE: ColumnChange = {
  add: { name: 'note', type: 'map<string, decimal(30, 4)>', after: 'id', comment: 'added by the service' },
  rename: { name: 'name', newName: 'full name' },
  drop: 'v',
}

const NESTED_CHANGE: ColumnChange = {
  add: { name: 's.added', type: 'timestamptz' },
  rename: { name: 's.first', newName: 'a' },
  drop: 'm',
}

/** Tables of `spark_tables.py` in the Hadoop catalog. */
const HADOOP_TABLES = [
  'position_deletes',
  'position_deletes_by_partition',
  'deletion_vectors',
  'partitioned_deletion_vectors',
  'upgraded',
  'evolved_partitions',
  'evolved_columns',
  'sorted_rows',
  'branches_and_tags',
  'overwritten',
  'avro_files',
  'equality_deletes',
  'partitioned_equality_deletes',
  'struct_equality_deletes',
  'defaults',
  'bloom_filters',
]

/** Tables created again in the SQL catalog that Spark and the service share. */
const SQL_TABLES = [
  'deletion_vectors',
  'branches_and_tags',
  'evolved_partitions',
  ...(isWholeRun ? ['position_deletes', 'equality_deletes'] : []),
]

/** Conditions that only the row with id 33 meets, one for each column with a Bloom filter. */
const BLOOM_LOOKUPS = [
  'id = 33',
  "region = 'us' AND id = 33",
  "ts = TIMESTAMP '1970-01-01 02:00:00.000033'",
  "name = 'name 33'",
  'amount = 41.25',
  'n = -33',
  "d = DATE '1970-01-03'",
  'f = CAST(33.25 AS FLOAT)',
  "b = CAST('b33' AS BINARY)",
  'small = 8.25',
  "local = TIMESTAMP_NTZ '1970-01-03 00:00:00'",
  's.x = 33000000231',
]

const available = sparkAvailable('interop with Spark')

if (available && !SQLITE_JDBC_JAR) {
  process.stderr.write('\nSKIPPED: Spark in the shared SQL catalog: SQLITE_JDBC_JAR is not set\n')
}

describe.skipIf(!available)('tables that Spark writes', { timeout: 600_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-spark-')) : ''
  const sqlCatalog = { path: `${folder}/catalog.db`, warehouse: `file://${folder}/sql` }
  let spark: SparkSession
  let service: Service

  beforeAll(async () => {
    for (const name of ['hadoop', 'sql', 'scratch']) mkdirSync(`${folder}/${name}`)
    spark = await SparkSession.start({ scratch: `${folder}/scratch`, warehouse: `${folder}/hadoop`, sqlCatalog })
    service = await Service.start({ home: `${folder}/home` })
  })

  afterAll(async () => {
    await service?.stop()
    await spark?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const hadoop: CatalogSettings = { catalog_type: 'hadoop', warehouse: `${folder}/hadoop`, catalog_name: 'house' }
  const sql: CatalogSettings = {
    catalog_type: 'sql',
    warehouse: sqlCatalog.warehouse,
    catalog_name: 'lockhouse',
    uri: `sqlite:///${sqlCatalog.path}`,
  }

  const catalogs = [
    { title: 'in a Hadoop catalog', prefix: 'house', settings: hadoop, names: HADOOP_TABLES },
    ...(SQLITE_JDBC_JAR
      ? [{ title: 'in the SQL catalog that both open', prefix: 'lockhouse', settings: sql, names: SQL_TABLES }]
      : []),
  ]

  describe.each(catalogs)('$title', ({ prefix, settings, names }) => {
    const tables = names.map((name) => `db.${name}`)
    let before: Dump

    const dump = (): Promise<Dump> => dumpTables(spark, prefix, tables)
    const dumpRows = (): Promise<Dump> => dumpTables(spark, prefix, tables, false)
    let evolved: Dump

    beforeAll(async () => {
      await spark.run({ cmd: 'make', catalog: prefix, only: prefix === 'house' ? [...names, 'orc_files'] : names })
      before = await dump()
      await service.configure(settings)
    })

    it.each(tables)('%s has the same inspection results as in Spark', async (table) => {
      await expectSameInspection(service, table, known(before, table))
    })

    describe('after compaction', () => {
      let after: Dump

      beforeAll(async () => {
        for (const table of tables) await service.operate('/api/compact', { table, rewrite_all: true })
        after = await dump()
      })

      it.each(tables)('%s has the same rows, and its deletes are applied permanently', async (table) => {
        const was = known(before, table)
        const is = known(after, table)
        expect(is.count).toBe(was.count)
        expect(is.hash).toBe(was.hash)
        expect(is.schema).toEqual(was.schema)
        expect(is.format_version).toBe(was.format_version)
        expect(is.metadata.files.filter((file) => file.content !== 0)).toEqual([])
        expect(is.metadata.files.reduce((total, file) => total + file.record_count, 0)).toBe(is.count)
        expect(is.metadata.files.length).toBeLessThan(was.metadata.files.length)
        expect(is.metadata.files.map((file) => file.file_format)).toEqual(is.metadata.files.map(() => 'parquet'))
        await expectSameInspection(service, table, is)
      })

      it.each(tables.filter((table) => /vector|upgraded/.test(table)))('%s keeps its row lineage', (table) => {
        const was = known(before, table)
        const is = known(after, table)
        expect(is.lineage?.count).toBe(was.count)
        expect(sortedRows(is.lineage?.rows ?? [])).toEqual(sortedRows(was.lineage?.rows ?? []))
        expect(is.next_row_id).toBeGreaterThanOrEqual(was.next_row_id ?? 0)
      })

      it.each(tables)('%s has new files with the sequence number at which the rewrite started', (table) => {
        const started = Math.max(...known(before, table).metadata.entries.map((entry) => entry.sequence_number))
        const added = known(after, table).metadata.entries.filter((entry) => entry.status === 1)
        expect(added.length).toBeGreaterThan(0)
        expect(new Set(added.map((entry) => entry.sequence_number))).toEqual(new Set([started]))
      })

      it.skipIf(prefix !== 'house')('values are found through the Bloom filters that we write', async () => {
        const found = await spark.sql(
          ...BLOOM_LOOKUPS.map((where) => `SELECT id FROM ${prefix}.db.bloom_filters WHERE ${where}`),
        )
        expect(found.map(({ rows }) => rows.map((row) => row['id']))).toEqual(BLOOM_LOOKUPS.map(() => [33]))
      })

      it('moves the files of old partition specs to the current one', () => {
        expect(specsOf(known(before, 'db.evolved_partitions')).size).toBe(3)
        expect(specsOf(known(after, 'db.evolved_partitions'))).toEqual(new Set([2]))
      })
    })

    describe('after changes of columns', () => {
      beforeAll(async () => {
        for (const table of tables) await changeColumns(service, table, changeOf(table))
        evolved = await dumpRows()
      })

      it.each(tables)('%s has the same values under the new names', async (table) => {
        const expected = (known(before, table).rows ?? []).map((row) => changedRow(row, changeOf(table)))
        const is = known(evolved, table)
        expect(sortedRows(is.rows ?? [])).toEqual(sortedRows(expected))
        await expectSameColumns(service, table, is)
      })
    })

    describe('after expiry', () => {
      let after: Dump

      beforeAll(async () => {
        for (const table of tables) {
          await service.operate('/api/expire', { table, older_than: new Date().toISOString(), retain_last: 1 })
        }
        after = await dump()
      })

      it.each(tables)('%s has the same rows and only the snapshots of its references', async (table) => {
        const is = known(after, table)
        expect(is.hash).toBe(known(evolved, table).hash)
        expect(is.lineage?.hash).toBe(known(evolved, table).lineage?.hash)
        expect(is.metadata.refs.map((ref) => ref.name)).toEqual(
          known(before, table).metadata.refs.map((ref) => ref.name),
        )
        const expected = table === 'db.branches_and_tags' ? 4 : 1 // main, the tag, and two on the branch
        expect(is.metadata.snapshots).toHaveLength(expected)
        await expectSameInspection(service, table, is)
      })

      it('a tag and a branch still show the same rows', async () => {
        const table = `${prefix}.db.branches_and_tags`
        const [tag, branch] = await spark.sql(
          `SELECT count(*) AS n FROM ${table} VERSION AS OF 'v1.0'`,
          `SELECT count(*) AS n FROM ${table} VERSION AS OF 'audit'`,
        )
        expect([tag?.rows[0]?.['n'], branch?.rows[0]?.['n']]).toEqual([60, 120])
      })
    })

    describe('when Spark continues to write', () => {
      let written: Dump
      let after: Dump

      beforeAll(async () => {
        for (const table of tables) await writeMore(spark, `${prefix}.${table}`)
        written = await dumpRows()
        for (const table of tables) await service.operate('/api/compact', { table, rewrite_all: true })
        after = await dump()
      }, 400_000)

      it.each(tables)('%s can be compacted again', async (table) => {
        const was = known(written, table)
        const is = known(after, table)
        expect(was.hash).not.toBe(known(before, table).hash)
        expect(is.hash).toBe(was.hash)
        expect(is.lineage?.hash).toBe(was.lineage?.hash)
        expect(is.metadata.files.filter((file) => file.content !== 0)).toEqual([])
        await expectSameInspection(service, table, is)
      })

      it.each(shareOf(tables))("%s passes Iceberg's own maintenance after ours", async (table) => {
        const call = (procedure: string, rest = '') => `CALL ${prefix}.system.${procedure}(table => '${table}'${rest})`
        await spark.sql(
          call('rewrite_manifests'),
          call('rewrite_data_files', ", options => map('rewrite-all', 'true')"),
          call('expire_snapshots', ", older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"),
        )
        const is = known(await dumpTables(spark, prefix, [table], false), table)
        expect(is.hash).toBe(known(after, table).hash)
        expect(is.lineage?.hash).toBe(known(after, table).lineage?.hash)
        expect((await service.read<Health>(`/api/table/${table}/health`)).record_count).toBe(is.count)
      })
    })

    if (prefix !== 'house') return

    it('a table of ORC files is refused and stays unchanged', async () => {
      const path = `${folder}/hadoop/db/orc_files`
      const was = await hashTree(path)
      const answer = await service.post('/api/compact', { table: 'db.orc_files', rewrite_all: true })
      expect(answer.body).toMatchObject({ status: 422, code: 'UNSUPPORTED', success: false })
      expect(answer.body['detail']).toMatch(/orc/i)
      expect(await hashTree(path)).toEqual(was)
    })
  })
})

async function dumpTables(
  spark: SparkSession,
  prefix: string,
  tables: readonly string[],
  metadata = true,
): Promise<Dump> {
  const names = tables.map((table) => `${prefix}.${table}`)
  const found = await spark.run<Dump>({ cmd: 'rows', tables: names, metadata })
  return Object.fromEntries(Object.entries(found).map(([name, table]) => [name.slice(prefix.length + 1), table]))
}

function known(dump: Dump, table: string): SparkTable {
  const found = dump[table]
  if (!found) throw new Error(`Spark has no table ${table}`)
  return found
}

async function changeColumns(service: Service, table: string, change: ColumnChange): Promise<void> {
  await service.operate('/api/evolve/add-column', { table, ...change.add })
  const { name, newName } = change.rename
  await service.operate('/api/evolve/rename-column', { table, name, new_name: newName })
  await service.operate('/api/evolve/drop-column', { table, name: change.drop })
}

/** Inserts, updates and deletes rows after the columns were changed. */
async function writeMore(spark: SparkSession, table: string): Promise<void> {
  const copy = `INSERT INTO ${table} SELECT * FROM ${table} WHERE id % 3 = 0`
  await spark.sql(
    copy,
    `DELETE FROM ${table} WHERE id % 10 = 8`,
    copy,
    `UPDATE ${table} SET id = id + 7 WHERE id % 10 = 9`,
  )
}

async function expectSameInspection(service: Service, table: string, theirs: SparkTable): Promise<void> {
  const { files, manifests, snapshots, refs, partitions } = theirs.metadata
  const data = files.filter((file) => file.content === 0)
  const vectors = files.filter((file) => file.content === 1 && file.file_format === 'puffin')
  const health = await service.read<Health>(`/api/table/${table}/health`)
  expect(health).toMatchObject({
    snapshot_count: snapshots.length,
    data_file_count: data.length,
    total_size_bytes: data.reduce((total, file) => total + file.file_size_in_bytes, 0),
    record_count: data.reduce((total, file) => total + file.record_count, 0),
    manifest_count: manifests.length,
    delete_file_count: files.length - data.length,
    delete_files: {
      position: files.filter((file) => file.content === 1).length - vectors.length,
      equality: files.filter((file) => file.content === 2).length,
      deletion_vectors: vectors.length,
    },
  })
  if (new Set(files.map((file) => file.spec_id)).size === 1) expect(health.partition_count).toBe(partitions)

  const answer = await service.read<FilesAnswer>(`/api/table/${table}/files`)
  const contents = ['data', 'position-deletes', 'equality-deletes'] as const
  expect(answer.files.map((file) => fileLine(file.content, file)).sort()).toEqual(
    files.map((file) => fileLine(contents[file.content as 0 | 1 | 2], file)).sort(),
  )

  const ours = await service.read<SnapshotsAnswer>(`/api/table/${table}/snapshots`)
  expect(snapshotLines(ours.snapshots)).toEqual(snapshotLines(snapshots))

  const named = await service.read<RefsAnswer>(`/api/table/${table}/refs`)
  expect(named.refs.map(refLine).sort()).toEqual(refs.map(refLine).sort())

  await expectSameColumns(service, table, theirs)
}

async function expectSameColumns(service: Service, table: string, theirs: SparkTable): Promise<void> {
  const { columns } = await service.read<SchemaAnswer>(`/api/table/${table}/schema`)
  const names = columns.filter((column) => column.path === column.name).map((column) => column.name)
  expect(names).toEqual(theirs.schema.map(([name]) => name))
}

function changeOf(table: string): ColumnChange {
  return table === 'db.evolved_columns' ? NESTED_CHANGE : CHANGE
}

function specsOf(table: SparkTable): ReadonlySet<number> {
  return new Set(table.metadata.files.map((file) => file.spec_id))
}

function refLine(ref: RefsAnswer['refs'][number]): string {
  return `${ref.name} ${ref.type.toLowerCase()} ${ref.snapshot_id}`
}

function fileLine(content: string, file: Omit<SparkFile, 'content'>): string {
  const { file_path, file_format, spec_id, record_count, file_size_in_bytes } = file
  return [content, normal(file_path), file_format, spec_id, record_count, file_size_in_bytes].join(' ')
}

function normal(location: string): string {
  return location.replace(/^file:\/*/, '/')
}
