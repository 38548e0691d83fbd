import { fileKey } from '../../iceberg/scan/file-scope.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { queryAnswer } from '../../schemas/tables/rows.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { CheckedQuery, QueriedRows, QueriedTable } from './run-query.ts'

export type QueryAnswer = Wire<typeof queryAnswer>

/** A table of a query, as it was at one snapshot. */
export interface OpenedTable extends QueriedTable {
  readonly snapshotId: bigint | undefined
}

/** What a query found. */
export interface FoundRows {
  readonly tables: readonly OpenedTable[]
  /** The same with the files that were opened. */
  readonly read: readonly QueriedTable[]
  readonly found: QueriedRows
  readonly durationMs: number
}

/** The answer to a query. */
export function buildAnswer({ tables, read, found, durationMs }: FoundRows): QueryAnswer {
  const planned = fileSizes(tables)
  return {
    success: true,
    columns: found.columns.map(({ name, type, engineType }) => ({
      name,
      type: type === undefined ? engineType : formatType(type),
    })),
    rows: found.rows,
    truncated: found.truncated,
    tables: tables.map(({ label, snapshotId }) => ({ table: label, snapshot_id: snapshotId?.toString() ?? null })),
    planned_files: planned.size,
    planned_bytes: sum(planned),
    read_bytes: sum(fileSizes(read)),
    duration_ms: durationMs,
  }
}

/** The result of a dry run: columns without rows. */
export function noRows({ columns }: CheckedQuery): QueriedRows {
  return { columns, rows: [], truncated: false, hasMore: false }
}

/** Sizes of data and delete files, each once. */
function fileSizes(tables: readonly QueriedTable[]): ReadonlyMap<string, number> {
  const files = new Map<string, number>()
  for (const { files: tasks } of tables) {
    for (const { dataFile, deletes } of tasks) {
      for (const file of [dataFile, ...deletes.map((one) => one.file)]) {
        files.set(fileKey(file), file.contentSizeInBytes ?? file.fileSizeInBytes)
      }
    }
  }
  return files
}

function sum(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((total, size) => total + size, 0)
}
