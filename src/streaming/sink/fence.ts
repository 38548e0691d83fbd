import type { Catalog } from '../../catalog/catalog.ts'
import { commitTable } from '../../catalog/commit-table.ts'
import { isTableMissing } from '../../catalog/load-if-present.ts'
import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { stageAppend } from '../../iceberg/update/stage/stage-append.ts'

/** The sink of a pipeline that has stopped. */
export interface Fenced {
  readonly table: string
  readonly uuid: string
  /** Names the snapshot's files; the same for another try. */
  readonly operationId: string
}

/** As many as a batch has, because compactions and other pipelines commit to the same table. */
const RETRIES = { count: 30, minWaitMs: 50, maxWaitMs: 2000, totalTimeoutMs: 120_000 }

/**
 * Commits an empty snapshot, so that a batch which a paused process has prepared for the table conflicts when it resumes. It
 * must then prepare its commit again, and finds that its lease has expired. What the table has afterwards is final.
 * Does nothing when the table was dropped or replaced. Errors of `commitTable`.
 */
export async function fenceSink(catalog: Catalog, { table, uuid, operationId }: Fenced): Promise<void> {
  try {
    await commitTable(
      catalog,
      parseIdentifier(table),
      async (fresh) => {
        if (fresh.metadata.tableUuid !== uuid) throw new IcebergError('NO_SUCH_TABLE', `${table} was replaced`)
        return stageAppend(fresh, { files: [], operationId, summary: { 'lockhouse.fence': operationId } })
      },
      { retries: RETRIES },
    )
  } catch (error) {
    if (!isTableMissing(error)) throw error
  }
}
