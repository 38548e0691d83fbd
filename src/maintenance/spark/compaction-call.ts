import type { RewriteDataFiles } from '../../engines/spark/maintenance/procedures.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { CompactionPlan } from '../compaction/plan.ts'
import { sparkSortOrder, sparkWhere, sparkZOrder } from './spark-text.ts'

/**
 * The same compaction for Spark's `rewrite_data_files`: every threshold is given, so that Spark chooses the files that
 * the plan shows. A table's own sort order is not repeated: sorting by an order of the request needs Iceberg's extensions.
 */
export function rewriteDataFilesOf(plan: CompactionPlan, metadata: TableMetadata): RewriteDataFiles {
  const { options } = plan
  return {
    ...sparkLayout(plan, metadata),
    ...(options.where === undefined ? {} : { where: sparkWhere(options.where, metadata) }),
    options: {
      'target-file-size-bytes': String(options.targetFileSizeBytes),
      'min-file-size-bytes': String(options.minFileSizeBytes),
      'max-file-size-bytes': String(options.maxFileSizeBytes),
      'min-input-files': String(options.minInputFiles),
      'rewrite-all': String(options.rewriteAll),
      'delete-file-threshold': String(options.deleteFileThreshold),
      'delete-ratio-threshold': String(options.deleteRatioThreshold),
      'max-file-group-size-bytes': String(options.maxFileGroupSizeBytes),
      // later equality deletes must still apply to the new files
      'use-starting-sequence-number': 'true',
      ...(options.maxFilesToRewrite === undefined ? {} : { 'max-files-to-rewrite': String(options.maxFilesToRewrite) }),
      ...(options.partialProgress
        ? {
            'partial-progress.enabled': 'true',
            'partial-progress.max-commits': String(options.partialProgressMaxCommits),
          }
        : {}),
    },
  }
}

function sparkLayout(
  { options, sortOrder, clustering }: CompactionPlan,
  metadata: TableMetadata,
): Pick<RewriteDataFiles, 'strategy' | 'sortOrder'> {
  if (clustering !== undefined) {
    if (clustering.curve === 'zorder')
      return { strategy: 'sort', sortOrder: sparkZOrder(clustering.columnIds, metadata) }
    throw new IcebergError('UNSUPPORTED', 'strategy: Spark has no strategy "hilbert"; choose the embedded engine')
  }
  if (sortOrder === undefined) return { strategy: 'binpack' }
  const isOwn = options.sortOrder === undefined
  return { strategy: 'sort', ...(isOwn ? {} : { sortOrder: sparkSortOrder(sortOrder, metadata) }) }
}
