import { type Kysely, sql } from 'kysely'

import type { SqlCatalogTables } from '../../src/catalog/sql/tables.ts'
import type { StateTables } from '../../src/storage/schema.ts'

/** Tables of one namespace. */
export const PER_NAMESPACE = 1000
/** Of a hundred tables, those that need care. */
export const UNHEALTHY_PERCENT = 1

/** What the index keeps of a table that should be compacted, as `healthRow` writes it. */
const ACTIONS = JSON.stringify([
  {
    operation: 'compact',
    reason: '240 small files in 12 partitions would become 12 files of about 512 MB',
    projected: { score: 96, rewritten_data_files_count: 240, added_data_files_count: 12, rewritten_bytes_count: 1e9 },
  },
  {
    operation: 'expire',
    reason: '180 snapshots are older than the retention of 5 days',
    projected: { score: 88, expired_snapshots_count: 180, deleted_files_count: 900 },
  },
])

const numbers = (count: number) =>
  sql`with recursive numbers(n) as (select 0 union all select n + 1 from numbers where n + 1 < ${sql.lit(count)})`
const name = sql`'ns' || (n / ${sql.lit(PER_NAMESPACE)}) || '.table_' || n`
/** Spread evenly, and not in the order of names. */
const percent = sql`((n * 37 + 11) % 100)`
const location = sql`'s3://warehouse/ns' || (n / ${sql.lit(PER_NAMESPACE)}) || '/table_' || n || '/metadata/00042-6f2a7b1c-5d0e-4a1b-8f3c-000000000000.metadata.json'`

/** Fills the health index with `count` tables of about 1 GB, 1 % of them unhealthy. */
export async function seedIndex(db: Kysely<StateTables>, count: number): Promise<void> {
  const measuredAt = new Date().toISOString()
  const isUnhealthy = sql`${percent} < ${sql.lit(UNHEALTHY_PERCENT)}`
  await sql`insert into table_health ${numbers(count)}
    select ${name}, 'ns' || (n / ${sql.lit(PER_NAMESPACE)}), 'uuid-' || n, ${location}, ${sql.lit(measuredAt)},
      case when ${isUnhealthy} then 30 + n % 40 else 80 + n % 21 end,
      case when ${isUnhealthy} then 'poor' else 'good' end,
      null, 20 + n % 500, 1000000000, n % 300, n % 7, 0, 10 + n % 200, 5 + n % 20, 1 + n % 50, 1000000, 100000000,
      n % 5000, 1700000000000, null, null, 0, 0, 0,
      case when ${isUnhealthy} then ${sql.lit(ACTIONS)} else '[]' end
    from numbers`.execute(db)
}

/** A sample for each table in the index, as a minute with a commit leaves it. */
export async function seedSamples(db: Kysely<StateTables>): Promise<void> {
  await sql`insert into table_health_samples
      (table_uuid, kind, slot, at, score, data_file_count, total_size_bytes, small_file_count, delete_file_count, snapshot_count)
    select substr(table_uuid || '-5d0e-4a1b-8f3c-000000000000', 1, 36), 'commit', '2026-01-01T00:00', measured_at, score,
      data_file_count, total_size_bytes, small_file_count, delete_file_count, snapshot_count from table_health`.execute(
    db,
  )
}

/** Fills a catalog named `lake` with `count` tables. */
export async function seedCatalog(db: Kysely<SqlCatalogTables>, count: number): Promise<void> {
  await sql`insert into iceberg_tables
      (catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location, iceberg_type)
    ${numbers(count)}
    select 'lake', 'ns' || (n / ${sql.lit(PER_NAMESPACE)}), 'table_' || n, ${location}, null, 'TABLE' from numbers`.execute(
    db,
  )
}

/** Lets the database gather what it plans queries with, as its own upkeep does sooner or later. */
export async function analyze(db: Kysely<never>): Promise<void> {
  await sql`analyze`.execute(db)
}
