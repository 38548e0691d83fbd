import { isJsonObject } from '../../iceberg/json/json-fields.ts'
import { parseJson } from '../../iceberg/json/lossless-json.ts'
import type { tableReaderList } from '../../schemas/tables/reports.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { ScanReportRow } from '../../storage/stores/tables/report-store.ts'
import { scanColumns } from './scan-columns.ts'

type Reader = Wire<typeof tableReaderList>['readers'][number]
type Column = Reader['columns'][number]

const KEPT_MS = 90 * 86_400_000

/** The time since which scans count for the readers of a table, RFC 3339. */
export function readersSince(now: Date): string {
  return new Date(now.getTime() - KEPT_MS).toISOString()
}

/** Who read which columns, from reports of scans, newest first; the user with the latest scan first. */
export function describeReaders(scans: readonly ScanReportRow[]): readonly Reader[] {
  return [...Map.groupBy(scans, ({ reported_by: user }) => user)].map(([user, own]) => describeReader(user, own))
}

function describeReader(user: string, scans: readonly ScanReportRow[]): Reader {
  const columns = new Map<string, Column>()
  const filterColumns = new Map<string, Column>()
  for (const { report_json: text, created_at: at } of scans) {
    const report = parseJson(text)
    const read = scanColumns(isJsonObject(report) ? report : {})
    for (const name of read.columns) countColumn(columns, name, at)
    for (const name of read.filterColumns) countColumn(filterColumns, name, at)
  }
  return {
    user,
    scan_count: scans.length,
    last_read_at: scans[0]?.created_at ?? '',
    columns: mostRead(columns),
    filter_columns: mostRead(filterColumns),
  }
}

/** Scans come newest first, so the first one that has a column is its last read. */
function countColumn(columns: Map<string, Column>, column: string, at: string): void {
  const { scan_count: count = 0, last_read_at: last = at } = columns.get(column) ?? {}
  columns.set(column, { column, scan_count: count + 1, last_read_at: last })
}

function mostRead(columns: ReadonlyMap<string, Column>): Column[] {
  return [...columns.values()].toSorted((a, b) => b.scan_count - a.scan_count || (a.column < b.column ? -1 : 1))
}
