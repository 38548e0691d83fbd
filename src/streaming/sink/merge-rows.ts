import type { MergedRows, MergeTarget, RowMerge } from '../../engines/row-merge.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { deleteFrom } from '../../iceberg/io/delete-files.ts'
import { requirePlain } from '../../iceberg/metadata/encryption.ts'
import { currentSortOrder } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import { keepsRows } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { referencedDataFile } from '../../iceberg/scan/file-scope.ts'
import { planFiles } from '../../iceberg/scan/scan.ts'
import type { StagedSnapshot, StageOptions } from '../../iceberg/update/stage/snapshot-producer.ts'
import { stageRowDelta } from '../../iceberg/update/stage/stage-row-delta.ts'
import { rowDeletesOutput } from '../../maintenance/position-deletes/delete-output.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import type { BatchWrite } from './batch-writer.ts'
import { divertedRows, outputOf, queryOf, runOptionsOf } from './batch-writer.ts'
import { requireChecks } from './check-results.ts'
import type { CompiledMerge } from './batch-query.ts'
import { discardRows } from './staged-rows.ts'

/**
 * Runs the query of a batch whose rows are merged into the sink; the caller closes the merge. Throws `PipelineStopped` `INVALID_KEY` for
 * rows without a key, `INVALID_CHANGE` for an unknown kind of change, and `CHECK_FAILED`: the same rows would come again.
 */
export async function openMerge(write: BatchWrite, merge: CompiledMerge): Promise<RowMerge> {
  const { metadata } = write.sink
  requirePlain(metadata)
  const problem = mergeProblem(metadata)
  if (problem !== undefined) throw new IcebergError('UNSUPPORTED', `the sink ${problem}`)
  const task = { ...(await queryOf(write)), metadata, ...merge }
  const opened = await write.engine.openRowMerge(task, runOptionsOf(write))
  try {
    requireChecks(write.compiled.checks ?? [], opened.rows.checks)
    requireMergeable(opened, keyNames(metadata, merge))
    return opened
  } catch (error) {
    await opened.close()
    await discardRows(divertedRows(write, opened.rows.sides))
    throw error
  }
}

/** Why rows of a table cannot be replaced; undefined when they can. The text follows the name of the table. */
export function mergeProblem({ formatVersion }: TableMetadata): string | undefined {
  if (formatVersion > 1) return undefined
  return 'has format version 1, in which rows cannot be replaced: upgrade it to version 2 or 3'
}

function keyNames({ schemas, currentSchemaId }: TableMetadata, { keyIds }: CompiledMerge): string {
  const fields = schemas.find(({ schemaId }) => schemaId === currentSchemaId)?.fields ?? []
  return keyIds.map((id) => fields.find((field) => field.id === id)?.name ?? id).join(', ')
}

function requireMergeable({ rows: { rows, nullKeys, unknownChange } }: RowMerge, key: string): void {
  if (nullKeys > 0) {
    throw new PipelineStopped(
      'INVALID_KEY',
      `${nullKeys} of ${rows} rows of the batch have no value in the key ${key}, so they cannot be found in the sink; ` +
        'filter them out, or choose another key',
    )
  }
  if (unknownChange === undefined) return
  throw new PipelineStopped(
    'INVALID_CHANGE',
    `a row of the batch has the _change_type "${unknownChange}": it must be insert, update_after, update_before or delete`,
  )
}

/** Finds the rows of the sink with the keys of a batch, and writes what replaces them; see `RowMerge.mergeInto`. */
export async function mergeInto(merge: RowMerge, sink: Table, write: BatchWrite): Promise<MergedRows> {
  const order = currentSortOrder(sink.metadata)
  const target: MergeTarget = {
    io: sink.io,
    metadata: sink.metadata,
    inputs: await planFiles(sink, { metrics: true, signal: write.signal }),
    output: outputOf(sink, write.filePrefix),
    deletes: rowDeletesOutput(sink.metadata, write.filePrefix),
    ...(order.fields.length === 0 ? {} : { sortOrder: order }),
  }
  return merge.mergeInto(target, runOptionsOf(write))
}

/** Whether a merge changes nothing. */
export function isUnchanged({ files, deletes }: MergedRows): boolean {
  return files.length === 0 && deletes.length === 0
}

/** Deletes the files of a merge that is not committed. */
export async function discardMerge({ io }: Table, { files, deletes }: MergedRows): Promise<void> {
  await deleteFrom(io, [...new Set([...files, ...deletes].map(({ filePath }) => filePath))])
}

/**
 * Stages a merge on the sink as it is now. `COMMIT_CONFLICT` when rows of the sink changed since their keys were searched, or when files
 * with rows to delete are gone: the merge must search again.
 */
export async function stageMerge(
  searched: Table,
  merged: MergedRows,
  { fresh, options }: { readonly fresh: Table; readonly options: StageOptions },
): Promise<StagedSnapshot> {
  requireSearched(searched.metadata, fresh.metadata)
  const replaced = merged.changedFiles.flatMap(({ deletes }) =>
    deletes.flatMap(({ file }) => (file.content === 'position-deletes' ? [file] : [])),
  )
  const isVector = fresh.metadata.formatVersion >= 3
  return stageRowDelta(fresh, {
    ...options,
    dataFiles: merged.files,
    deleteFiles: merged.deletes,
    referencedDataFiles: merged.changedFiles.map(({ dataFile }) => dataFile.filePath),
    ...(isVector
      ? {
          replacedDeleteFiles: replaced.filter((file) => referencedDataFile(file) !== undefined),
          mergedDeleteFiles: replaced.filter((file) => referencedDataFile(file) === undefined),
        }
      : {}),
  })
}

/** The rows with the keys are known only in the state that was searched, and in later ones with the same rows. */
function requireSearched(searched: TableMetadata, fresh: TableMetadata): void {
  const layout = ({ formatVersion, currentSchemaId, defaultSpecId }: TableMetadata): string =>
    [formatVersion, currentSchemaId, defaultSpecId].join()
  if (layout(searched) !== layout(fresh)) throw conflict('its schema, partitioning or format version changed')
  if (searched.currentSnapshotId === fresh.currentSnapshotId) return
  if (fresh.currentSnapshotId === undefined) throw conflict('it has no current snapshot any more')
  for (const snapshot of ancestorsOf(fresh, fresh.currentSnapshotId)) {
    if (snapshot.snapshotId === searched.currentSnapshotId) return
    if (!keepsRows(snapshot)) throw conflict('another writer changed its rows')
  }
  throw conflict('it was rolled back')
}

function conflict(why: string): IcebergError {
  return new IcebergError('COMMIT_CONFLICT', `The rows to replace must be searched again in the sink: ${why}`)
}
