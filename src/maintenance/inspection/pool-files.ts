import { currentSpec } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { isUnpartitioned } from '../../iceberg/partitioning/partitioning.ts'
import type { TableFiles } from '../table-files.ts'

/** The pool of all files of other specs than the current one. */
export const OTHER_SPECS = -1

/**
 * Files that are planned together, as the planner pools them, by the position of their partition: files of other specs together, and
 * all files of a table whose current spec is unpartitioned.
 */
export function poolFiles(metadata: TableMetadata, { files, partitions }: TableFiles): ReadonlyMap<number, number[]> {
  const spec = currentSpec(metadata)
  const whole = isUnpartitioned(spec)
  const poolOf = partitions.map(({ specId }, at) => (whole ? 0 : specId === spec.specId ? at : OTHER_SPECS))
  const pools = new Map<number, number[]>()
  for (let file = 0; file < files.sizes.length; file += 1) {
    const pool = poolOf[files.partitionOf[file] ?? 0] ?? 0
    const members = pools.get(pool)
    if (members === undefined) pools.set(pool, [file])
    else members.push(file)
  }
  return pools
}
