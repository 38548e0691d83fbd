import { z } from 'zod'
import { count, nextPageToken, timestamp } from '../common.ts'

export const tableReportList = z
  .object({
    success: z.literal(true),
    reports: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(['scan-report', 'commit-report']),
        reported_by: z.string(),
        reported_at: timestamp,
        report_json: z
          .string()
          .meta({ description: 'As the client sent it (Iceberg REST specification, ReportMetricsRequest)' }),
      }),
    ),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'TableReportList' })

const readColumn = z.object({
  column: z.string().meta({ description: 'Dotted name, as the client reported it' }),
  scan_count: count,
  last_read_at: timestamp,
})

export const tableReaderList = z
  .object({
    success: z.literal(true),
    table: z.string(),
    since: timestamp.meta({ description: 'Scans before this time do not count' }),
    readers: z.array(
      z.object({
        user: z.string(),
        scan_count: count.meta({ description: 'Scans among the reports that are kept, as in each column' }),
        last_read_at: timestamp,
        columns: z.array(readColumn).meta({ description: 'Columns that these scans read, most read first' }),
        filter_columns: z.array(readColumn).meta({ description: 'Columns that these scans filtered by' }),
      }),
    ),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'TableReaderList' })
