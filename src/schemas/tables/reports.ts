import { z } from 'zod'
import { nextPageToken, timestamp } from '../common.ts'

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
