import { type Kysely, sql } from 'kysely'

import type { TableReportsTable } from '../../automation-schema.ts'
import { afterCursor } from '../../page-query.ts'
import { type Page, pageOf, type PageRequest } from '../../page.ts'
import type { StateTables } from '../../schema.ts'

/** Reports in the order of lists. */
export type TableReportRow = TableReportsTable & { readonly createdAt: string }

/** Which reports of a table are kept. */
export interface KeptReports {
  /** The newest reports of all users. */
  readonly newest: number
  /** Besides them, the newest scans of each user, so that a busy user does not remove those of others. */
  readonly scansOfUser: number
  /** Of these scans of users: at most so many in all, and none before this time. */
  readonly scans: number
  readonly since: string
}

/** A report of a scan. */
export type ScanReportRow = Pick<TableReportsTable, 'reported_by' | 'report_json' | 'created_at'>

/** What clients report of their scans and commits. */
export interface TableReportStore {
  /** Adds a report, and removes those of the table that are not kept. */
  add(report: TableReportsTable, kept: KeptReports): Promise<void>
  /** Reports of scans since a time, newest first. */
  listScans(table: string, since: string): Promise<readonly ScanReportRow[]>
  /** Newest first. */
  list(table: string, page: PageRequest): Promise<Page<TableReportRow>>
}

/** Reports in the state database. */
export function createTableReportStore(db: Kysely<StateTables>): TableReportStore {
  return {
    async add(report, kept) {
      await db.insertInto('table_reports').values(report).execute()
      const newest = db
        .selectFrom('table_reports')
        .select('id')
        .where('table_name', '=', report.table_name)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(kept.newest)
      const others = db.deleteFrom('table_reports').where('table_name', '=', report.table_name)
      await others
        .where('id', 'not in', newest)
        .where('id', 'not in', scansOfUsers(db, report, kept))
        .execute()
    },
    listScans: (table, since) =>
      db
        .selectFrom('table_reports')
        .select(['reported_by', 'report_json', 'created_at'])
        .where('table_name', '=', table)
        .where('kind', '=', 'scan-report')
        .where('created_at', '>=', since)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    async list(table, page) {
      const query = db
        .selectFrom('table_reports')
        .selectAll()
        .select('created_at as createdAt')
        .where('table_name', '=', table)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
      return pageOf(await afterCursor(query, page).execute(), page.limit)
    },
  }
}

/** Ids of the newest scans of each user of a table. */
function scansOfUsers(db: Kysely<StateTables>, { table_name: table }: TableReportsTable, kept: KeptReports) {
  const place = sql<number>`row_number() over (partition by reported_by order by created_at desc, id desc)`
  const scans = db
    .selectFrom('table_reports')
    .select(['id', 'created_at', place.as('place')])
    .where('table_name', '=', table)
    .where('kind', '=', 'scan-report')
    .where('created_at', '>=', kept.since)
  return db
    .selectFrom(scans.as('scans'))
    .select('scans.id')
    .where('scans.place', '<=', kept.scansOfUser)
    .orderBy('scans.created_at', 'desc')
    .orderBy('scans.id', 'desc')
    .limit(kept.scans)
}
