import { z } from 'zod'
import { HEALTH_BANDS } from '../../domain/tables/health-band.ts'
import { bytes, catalogName, chartRange, count, namespaceName, nextPageToken, pageQuery, timestamp } from '../common.ts'

/** What the health index can be sorted by. */
export const HEALTH_SORTS = ['score', 'small_files', 'delete_ratio', 'bytes', 'last_commit', 'name'] as const

export const healthIndexQuery = pageQuery.extend({
  sort: z.enum(HEALTH_SORTS).optional().meta({ description: 'Default: score' }),
  order: z.enum(['asc', 'desc']).optional().meta({
    description: 'Default: what needs attention first; the lowest score, the most small files, the oldest commit',
  }),
  catalog: catalogName.optional(),
  namespace: namespaceName.optional(),
  band: z.enum(HEALTH_BANDS).optional(),
  search: z.string().min(1).max(200).optional().meta({ description: 'Part of the name, in any case' }),
})

const indexedTable = z
  .object({
    table: z.string(),
    namespace: z.string(),
    band: z.enum(HEALTH_BANDS),
    score: z.int().min(0).max(100).nullable().meta({ description: 'null when the table could not be read' }),
    problem: z.string().nullable().meta({ description: 'Why the table could not be read' }),
    data_file_count: count,
    total_size_bytes: bytes,
    small_file_count: count,
    delete_file_count: count,
    delete_ratio: z.number().min(0).meta({ description: 'Deleted records / records' }),
    snapshot_count: count,
    manifest_count: count,
    partition_count: count,
    record_count: count,
    held_bytes: bytes.meta({
      description: 'Size of the files that only older snapshots use, as the summaries of the snapshots say',
    }),
    last_commit_at: timestamp.nullable().meta({ description: 'The last commit that changed rows; compaction is none' }),
    freshness_target: z.string().nullable().meta({ description: 'The table property `lockhouse.freshness`' }),
    is_stale: z.boolean(),
    recommended: z.array(z.string()).meta({ description: 'Operations that the health report recommends' }),
    measured_at: timestamp,
  })
  .meta({ id: 'IndexedTable' })

export type IndexedTableView = z.infer<typeof indexedTable>

export const healthIndex = z
  .object({
    success: z.literal(true),
    tables: z.array(indexedTable),
    bands: z.object({ good: count, fair: count, poor: count, unknown: count }).meta({
      description: 'Number of all indexed tables in each band',
    }),
    totals: z.object({ tables: count, bytes, held_bytes: bytes, small_files: count, stale: count }),
    checked_at: timestamp.nullable().meta({
      description: 'When all tables were last compared with the catalog; null before the first time',
    }),
    pending_count: count.meta({ description: 'Tables that have changed and are not measured yet' }),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'HealthIndex' })

/** The samples of a history: after commits, one a day, or after commits with days where these are no longer stored. */
export const HEALTH_HISTORY_KINDS = ['commit', 'day', 'all'] as const

export const healthHistoryQuery = pageQuery.extend({
  kind: z.enum(HEALTH_HISTORY_KINDS).optional().meta({
    description: 'Default: commit. `all`: after commits and, before the oldest of these, one a day; all in one page',
  }),
  ...chartRange,
})

const healthSample = z.object({
  at: timestamp,
  score: z.int().min(0).max(100),
  data_file_count: count,
  total_size_bytes: bytes,
  small_file_count: count,
  delete_file_count: count,
  snapshot_count: count,
})

export const healthHistory = z
  .object({
    success: z.literal(true),
    table: z.string(),
    samples: z.array(healthSample),
    previous: healthSample
      .nullable()
      .meta({ description: 'The newest sample before `from`, whose score holds until the first' }),
    is_thinned: z.boolean().meta({ description: 'Whether samples are left out because of `points`' }),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'HealthHistory' })
