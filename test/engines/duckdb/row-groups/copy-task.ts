import type { RowGroupCopyTask } from '../../../../src/engines/row-group-copy.ts'
import type { FileScanTask } from '../../../../src/iceberg/scan/scan.ts'
import type { Lake, TableShape } from '../harness/lake.ts'

/** A copy of the inputs into one file, with row groups of any size. */
export function copyTask(
  lake: Lake,
  shape: TableShape,
  inputs: readonly FileScanTask[],
  overrides: Partial<RowGroupCopyTask> = {},
): RowGroupCopyTask {
  const { io, metadata, output } = lake.task(shape, inputs)
  const sizes = { outputFiles: 1, fileSizes: { min: 0, max: 2 ** 40 }, minRowGroupBytes: 0 }
  return { io, metadata, inputs, partition: [], output, ...sizes, verifyBytes: true, ...overrides }
}
