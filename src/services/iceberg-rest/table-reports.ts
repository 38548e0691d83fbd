import { DomainError } from '../../domain/errors.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { IdSource } from '../../domain/ids.ts'
import { type JsonObject, stringifyJson } from '../../iceberg/json/lossless-json.ts'
import type { tableReaderList, tableReportList } from '../../schemas/tables/reports.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { TableReportStore } from '../../storage/stores/tables/report-store.ts'
import { describeReaders, readersSince } from './table-readers.ts'
import { cursorPage, fromCursorPage, pageOfList, type PageQuery } from '../paging/paging.ts'

export interface TableReportsDeps {
  readonly store: TableReportStore
  readonly newId: IdSource
  readonly now: () => Date
}

/** What clients of the Iceberg REST catalog report of their scans and commits (`ReportMetricsRequest`). */
export interface TableReports {
  /** Keeps the newest reports of each table, and the newest scans of each of its readers. Throws `INVALID_REQUEST` for a report that is none. */
  add(table: string, report: JsonObject, context: RequestContext): Promise<void>
  /** Newest first. */
  list(table: string, page: PageQuery): Promise<Wire<typeof tableReportList>>
  /** Who read which columns, from the scans that are kept; the user with the latest scan first. */
  readers(table: string, page: PageQuery): Promise<Wire<typeof tableReaderList>>
}

const KINDS: ReadonlySet<unknown> = new Set(['scan-report', 'commit-report'])
const KEPT = { newest: 100, scansOfUser: 10, scans: 1000 } as const
/** Of a report as it is sent. */
export const MAX_REPORT_BYTES = 64 * 1024

/** The kind of a report. Throws `INVALID_REQUEST` for a report that is none. */
export function requireReport(report: JsonObject): string {
  const kind = report['report-type']
  if (typeof kind === 'string' && KINDS.has(kind)) return kind
  throw new DomainError('INVALID_REQUEST', 'report-type must be scan-report or commit-report')
}

/** Reports over a store. */
export function createTableReports({ store, newId, now }: TableReportsDeps): TableReports {
  return {
    async add(table, report, { caller }) {
      const kind = requireReport(report)
      const row = {
        id: newId('rep'),
        table_name: table,
        kind,
        reported_by: caller.user,
        report_json: stringifyJson(report),
        created_at: now().toISOString(),
      }
      await store.add(row, { ...KEPT, since: readersSince(now()) })
    },
    async list(table, page) {
      const { items, next_page_token } = fromCursorPage(await store.list(table, cursorPage(page)), (row) => ({
        id: row.id,
        kind: row.kind === 'scan-report' ? ('scan-report' as const) : ('commit-report' as const),
        reported_by: row.reported_by,
        reported_at: row.created_at,
        report_json: row.report_json,
      }))
      return { success: true, reports: items, next_page_token }
    },
    async readers(table, page) {
      const since = readersSince(now())
      const readers = describeReaders(await store.listScans(table, since))
      const [newest] = readers
      const version = `readers ${table} ${newest?.user ?? ''} ${newest?.last_read_at ?? ''} ${readers.length}`
      const { items, next_page_token } = pageOfList(readers, page, version)
      return { success: true, table, since, readers: items, next_page_token }
    },
  }
}
