import type { Kysely } from 'kysely'

import type { TableReportsTable } from '../../automation-schema.ts'
import { afterCursor } from '../../page-query.ts'
import { type Page, pageOf, type PageRequest } from '../../page.ts'
import type { StateTables } from '../../schema.ts'

/** Reports in the order of lists. */
export type TableReportRow = TableReportsTable & { readonly createdAt: string }

/** What clients report of their scans and commits. */
export interface TableReportStore {
  /** Adds a report, and removes all but the newest `keep` of the table. */
  add(report: TableReportsTable, keep: number): Promise<void>
  /** Newest first. */
  list(table: string, page: PageRequest): Promise<Page<TableReportRow>>
}

/** Reports in the state database. */
export function createTableReportStore(db: Kysely<StateTables>): TableReportStore {
  return {
    async add(report, keep) {
      await db.insertInto('table_reports').values(report).execute()
      const newest = db
        .selectFrom('table_reports')
        .select('id')
        .where('table_name', '=', report.table_name)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(keep)
      const others = db.deleteFrom('table_reports').where('table_name', '=', report.table_name)
      await others.where('id', 'not in', newest).execute()
    },
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
