import type { Engine } from '../../engines/engine.ts'
import type { OutputSpec } from '../../engines/output-spec.ts'
import type { RowGroupCopyResult } from '../../engines/row-group-copy.ts'
import type { EngineRunOptions } from '../../engines/run-options.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planFilesInSteps } from '../../iceberg/scan/scan.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { CompactionOptions } from './options.ts'
import type { CompactionGroup } from './plan.ts'

export interface GroupCopyInput {
  readonly engine: Engine
  /** The table as it was when the group was planned. */
  readonly table: Table
  readonly group: CompactionGroup
  readonly output: OutputSpec
  readonly options: CompactionOptions
  /** The inputs of the groups to copy with all their metrics, by path. */
  readonly measured: ReadonlyMap<string, FileScanTask>
}

/** Copies the row groups of a group; refused, with nothing changed, when its plan or the footers of its files do not permit it. */
export async function copyGroup(
  { engine, table, group, output, options, measured }: GroupCopyInput,
  runOptions: EngineRunOptions,
): Promise<RowGroupCopyResult> {
  const { partition, noCopyReason: reason = 'the group has no partition' } = group
  if (partition === undefined || group.noCopyReason !== undefined) return { kind: 'refused', reason }
  const inputs = group.inputs.flatMap(({ dataFile }) => measured.get(dataFile.filePath) ?? [])
  if (inputs.length !== group.inputs.length) return { kind: 'refused', reason: 'the metrics of a file were not found' }
  if (inputs.some(({ deletes }) => deletes.length > 0)) return { kind: 'refused', reason: 'deletes apply to the files' }
  return engine.copyRowGroups(
    {
      io: table.io,
      metadata: table.metadata,
      inputs,
      partition,
      output,
      outputFiles: group.expectedOutputFiles,
      fileSizes: { min: options.minFileSizeBytes, max: options.maxFileSizeBytes },
      minRowGroupBytes: group.noRewriteReason === undefined ? options.minRowGroupSizeBytes : 0,
      verifyBytes: options.verify === 'values',
    },
    runOptions,
  )
}

/** Reads the metrics of the files of groups that are to be copied: a plan does not have them, to stay small. */
export async function measureInputs(
  table: Table,
  groups: readonly CompactionGroup[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, FileScanTask>> {
  const wanted = new Set(
    groups
      .filter(({ noCopyReason }) => noCopyReason === undefined)
      .flatMap(({ inputs }) => inputs.map(({ dataFile }) => dataFile.filePath)),
  )
  const measured = new Map<string, FileScanTask>()
  if (wanted.size === 0) return measured
  for await (const tasks of planFilesInSteps(table, { metrics: true, ...(signal === undefined ? {} : { signal }) })) {
    for (const task of tasks) if (wanted.has(task.dataFile.filePath)) measured.set(task.dataFile.filePath, task)
    if (measured.size === wanted.size) break
  }
  return measured
}
