import { z } from 'zod'
import { bytes, count } from '../common.ts'

/** What an operation removed; null where that is not known. */
export const receiptFigures = z.object({
  files_removed: z.int().nullable().meta({ description: 'Data files' }),
  delete_files_removed: z.int().nullable(),
  manifests_removed: z.int().nullable().meta({ description: 'Manifests and manifest lists' }),
  bytes_freed: z.int().nullable().meta({
    description:
      'Of a compaction: by how much the files of the table became smaller; otherwise: bytes of removed files',
  }),
  storage_freed_bytes: z.int().nullable().meta({
    description:
      'Bytes that are no longer stored; below 0 for a compaction, whose old files stay until snapshots expire. Files in quarantine count as freed',
  }),
  bytes_rewritten: bytes.nullable(),
})

/** What planning a full scan of the table costs a reader. */
export const scanCost = z.object({
  planning_ms: z.number().min(0).meta({ description: 'Measured: reading the manifest list and all manifests' }),
  manifests: count,
  data_files: count,
  delete_files: count,
  requests: count.meta({ description: 'Files that a full scan opens: list, manifests, data files, delete files' }),
})

/** What a change saves, at the configured prices. */
export const savings = z
  .object({
    currency: z.string(),
    storage_per_month: z.number().nullable(),
    thousand_scans: z.number().nullable().meta({ description: 'Requests of 1,000 full scans' }),
  })
  .meta({
    id: 'Savings',
    description: 'At `COST_PER_GB_MONTH` and `COST_PER_1000_REQUESTS`; below 0 when it costs more',
  })

/** What an operation was expected to gain, and what was measured. */
export const receipt = z
  .object({
    projected: receiptFigures.nullable().meta({ description: 'From the plan that was applied; null without one' }),
    measured: receiptFigures,
    scan: z
      .object({ before: scanCost, after: scanCost })
      .nullable()
      .meta({ description: 'Null for operations that do not change what a scan reads' }),
    money: savings.nullable().meta({ description: 'Null without configured prices' }),
  })
  .meta({ id: 'Receipt' })

export type ReceiptFigures = z.output<typeof receiptFigures>
export type Receipt = z.output<typeof receipt>
