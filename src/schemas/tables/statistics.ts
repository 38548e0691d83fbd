import { z } from 'zod'
import { bytes, count, queryFlag, snapshotId } from '../common.ts'

export const statisticsQuery = z.strictObject({
  profile: queryFlag.describe('Also read a sample of the rows, and measure it').optional(),
})

const shownValue = z.string().meta({ description: 'As text; more than 100 characters are cut, and end in …' })

export const columnProfile = z
  .object({
    nulls_ratio: z.number().min(0).max(1).nullable().meta({ description: 'Null: the sample has no rows' }),
    distinct_count: count.meta({ description: 'Different values in the sample, without NULL' }),
    distinct_estimate: count.meta({
      description: 'Different values of the table, as far as the sample permits a guess',
    }),
    min: shownValue.nullable(),
    max: shownValue.nullable(),
    top_values: z
      .array(z.object({ value: shownValue, count }))
      .max(10)
      .meta({ description: 'The most frequent values of the sample, without NULL' }),
    quantiles: z
      .object({ p25: z.string(), p50: z.string(), p75: z.string() })
      .nullable()
      .meta({ description: 'Values of the sample, for numbers; NaN is left out, as in `min` and `max`' }),
    lengths: z.object({ min: count, max: count }).nullable().meta({ description: 'In characters, for texts' }),
  })
  .meta({ id: 'ColumnProfile' })

export const sampleFacts = z
  .object({
    sampled_rows: count.meta({
      description: 'Rows that were measured, without deleted ones; for some columns of a wide table a few more',
    }),
    total_rows: count.meta({ description: 'Rows of all data files, before deletes are applied' }),
    sampled_files: count,
    total_files: count,
    snapshot_id: snapshotId.nullable(),
    is_complete: z.boolean().meta({ description: 'Every row of the table was measured' }),
    rule: z.string().meta({ description: 'How files and rows were chosen' }),
    duration_ms: z.number().min(0),
  })
  .meta({ id: 'SampleFacts' })

export const tableStatistics = z
  .object({
    success: z.literal(true),
    table: z.string(),
    snapshot_id: snapshotId.nullable(),
    data_file_count: count,
    record_count: count.meta({ description: 'Rows of data files, before deletes are applied' }),
    columns: z.array(
      z.object({
        id: z.int(),
        path: z.string(),
        type: z.string(),
        value_count: count.nullable().meta({ description: 'Null where a manifest does not know it, as all figures' }),
        null_count: count.nullable(),
        size_bytes: bytes.nullable().meta({ description: 'Compressed size' }),
        lower: z.string().nullable().meta({ description: 'At most the smallest value; writers may truncate texts' }),
        upper: z.string().nullable().meta({ description: 'At least the greatest value' }),
        bounded_file_count: count.meta({ description: 'Data files with bounds, or with NULL values only' }),
        profile: columnProfile.nullable().optional().meta({
          description: 'With `profile=true`; null for columns that are not measured',
        }),
      }),
    ),
    profile: sampleFacts.optional().meta({ description: 'With `profile=true`' }),
  })
  .meta({ id: 'TableStatistics' })

/** Bars of one picture. */
export const MAX_BARS = 500

export const fileBoundsQuery = z.strictObject({
  column: z
    .string()
    .min(1)
    .max(1000)
    .describe('A column, members of structs by dotted paths; default: the first one that the table is laid out by')
    .optional(),
  limit: z.coerce.number().int().min(1).max(MAX_BARS).default(MAX_BARS).describe('Bars at most'),
})

const place = z.number().min(0).max(1)

export const fileBounds = z
  .object({
    success: z.literal(true),
    table: z.string(),
    snapshot_id: snapshotId.nullable(),
    layout: z
      .object({ kind: z.enum(['sort', 'zorder', 'hilbert']), columns: z.array(z.string()) })
      .nullable()
      .meta({ description: 'How rows are laid out over files, by `lockhouse.cluster-by` or the sort order' }),
    column: z
      .object({ id: z.int(), path: z.string(), type: z.string() })
      .nullable()
      .meta({ description: 'Null: the table has no layout, and no column was asked for' }),
    data_file_count: count,
    bounded_file_count: count.meta({ description: 'Data files with both bounds of the column' }),
    scale: z
      .enum(['linear', 'rank'])
      .meta({ description: 'What `start` and `end` compare: values, or for texts their places in the list of bounds' }),
    lower: z.string().nullable(),
    upper: z.string().nullable(),
    overlap: z
      .object({
        file_count: count.meta({ description: 'Data files of partitions with at least two' }),
        other_count: z.number().min(0).meta({ description: 'Other files of the partition, on average' }),
        overlap_count: z.number().min(0).meta({ description: 'Of these, files whose bounds overlap, on average' }),
      })
      .nullable()
      .meta({ description: 'As the health factor `overlap` measures it, for this column alone' }),
    bars: z.array(
      z.object({
        lower: z.string(),
        upper: z.string(),
        start: place,
        end: place,
        record_count: count,
        size_bytes: bytes,
      }),
    ),
    left_out_count: count.meta({ description: 'Data files with bounds that have no bar' }),
  })
  .meta({ id: 'FileBounds' })
