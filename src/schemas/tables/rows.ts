import { z } from 'zod'
import { bytes, count, queryFlag, snapshotId, timeInput } from '../common.ts'

/** Rows of one answer. */
export const MAX_ROWS = 1000
const DEFAULT_ROWS = 100

const asOf = timeInput.describe('Read `main` as it was at this time')

export const tableRowsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(DEFAULT_ROWS),
  snapshot_id: snapshotId.optional(),
  ref: z.string().min(1).max(255).describe('A branch or tag').optional(),
  as_of: asOf.optional(),
  where: z
    .string()
    .min(1)
    .max(10_000)
    .describe("A condition on the columns of a row, in DuckDB SQL, such as amount > 100 AND status = 'paid'")
    .optional(),
  columns: z.string().min(1).max(10_000).describe('Names of top-level columns, separated by commas').optional(),
  order_by: z.string().min(1).max(1000).describe('A top-level column').optional(),
  descending: queryFlag.optional(),
  dry_run: queryFlag.describe('Return the columns and what would be read, without rows').optional(),
})

export const tableChangesQuery = z.strictObject({
  from_snapshot_id: snapshotId.describe('Changes after this snapshot; default: the parent of the last one').optional(),
  to_snapshot_id: snapshotId.describe('Changes up to this snapshot; default: the current one').optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(DEFAULT_ROWS),
  key: z
    .string()
    .min(1)
    .max(10_000)
    .describe('Top-level columns that identify a row, separated by commas: finds updated rows')
    .optional(),
  by_row_id: queryFlag.describe('Find updated rows by their row id, in format version 3').optional(),
  where: z
    .string()
    .min(1)
    .max(10_000)
    .describe("A condition on the columns of a changed row, in DuckDB SQL, such as _change_type = 'delete'")
    .optional(),
  columns: z.string().min(1).max(10_000).describe('Names of top-level columns, separated by commas').optional(),
  counts: queryFlag.describe('Count all changed rows by kind, which reads all changed files').optional(),
  dry_run: queryFlag.describe('Return the columns and what would be read, without rows').optional(),
})

export const queryRequest = z
  .strictObject({
    sql: z
      .string()
      .min(1)
      .max(10_000)
      .describe('One SELECT in DuckDB SQL over tables by their names, such as SELECT * FROM demo.orders'),
    limit: z.int().min(1).max(MAX_ROWS).default(DEFAULT_ROWS),
    as_of: asOf.optional(),
    dry_run: z.boolean().describe('Return the columns and what would be read, without rows').optional(),
  })
  .meta({ id: 'QueryRequest' })

export const queryAnswer = z
  .object({
    success: z.literal(true),
    columns: z.array(
      z.object({
        name: z.string(),
        type: z.string().meta({ description: 'An Iceberg type, else that of the engine' }),
      }),
    ),
    rows: z.array(z.array(z.unknown())).meta({
      description:
        'Values in the order of the columns; 64-bit integers, decimals and times are texts, nested values too',
    }),
    truncated: z.boolean().meta({ description: 'There are more rows, or long values were shortened' }),
    tables: z.array(z.object({ table: z.string(), snapshot_id: snapshotId.nullable() })),
    planned_files: count.meta({ description: 'Data and delete files that all rows need' }),
    planned_bytes: bytes,
    read_bytes: bytes.meta({ description: 'Size of the files that were opened for these rows' }),
    duration_ms: z.number().min(0),
  })
  .meta({ id: 'QueryAnswer' })

const rowCount = count.meta({ description: 'Changed rows that meet the condition' })

export const changesAnswer = queryAnswer
  .extend({
    from_snapshot_id: snapshotId.nullable().meta({ description: 'null: the table was empty' }),
    to_snapshot_id: snapshotId.nullable().meta({ description: 'null: the table has no snapshot' }),
    snapshot_count: count.meta({ description: 'Snapshots of the range that may change rows; compactions do not' }),
    counts: z
      .object({ insert: rowCount, delete: rowCount, update_before: rowCount, update_after: rowCount })
      .optional(),
  })
  .meta({ id: 'ChangesAnswer' })
