import type { ProjectedDeleteRewrite } from '../../domain/tables/health-advice.ts'
import type { TableHealthFacts } from '../../domain/tables/table-health.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planDeleteRewrite } from './plan.ts'

/** What a rewrite of position deletes would do to a table. */
export type DeleteRewriteProjection = Omit<ProjectedDeleteRewrite, 'scoreAfter'>

/** Above this many data files, deletes are not planned for a projection: it would take too long. */
const MAX_PLANNED_FILES = 300_000

/** Projects a rewrite with default options; undefined when there is nothing to do, or it is not possible. */
export async function projectDeleteRewrite(
  table: Table,
  facts: TableHealthFacts,
): Promise<DeleteRewriteProjection | undefined> {
  if (facts.positionDeletes.count === 0 || facts.dataFiles.count > MAX_PLANNED_FILES) return undefined
  try {
    const { groups, needless } = await planDeleteRewrite(table, {})
    const rewritten = [...groups.flatMap(({ deletes }) => deletes), ...needless]
    if (rewritten.length === 0) return undefined
    return {
      rewrittenFiles: rewritten.length,
      danglingFiles: needless.length,
      addedFiles: groups.reduce((sum, { expectedFiles }) => sum + expectedFiles, 0),
      rewrittenBytes: rewritten.reduce((sum, { file }) => sum + file.fileSizeInBytes, 0),
    }
  } catch (error) {
    // a property that cannot be used must not hide the rest of the report
    if (isIcebergError(error, 'UNSUPPORTED') || isIcebergError(error, 'INVALID_METADATA')) return undefined
    throw error
  }
}
