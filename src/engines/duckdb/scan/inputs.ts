import { IcebergError } from '../../../iceberg/errors.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { FileScanTask } from '../../../iceberg/scan/scan.ts'

import { stageAvroFiles } from './avro-staging.ts'
import { withFieldIds } from './field-ids.ts'
import { requireInt96InRange } from './int96-check.ts'
import { inspectFiles } from './file-schema.ts'
import type { FileShape } from './file-schema.ts'
import { emptyFile, isWorthSplitting } from './empty-file.ts'
import type { StageContext } from './stage-context.ts'
import { stageFiles } from './staging.ts'

/** A file that the engine can open: where it is staged, its columns with field ids, its rows. */
export interface StagedFile {
  readonly file: DataFile
  readonly path: string
  readonly shape: FileShape
  readonly rowCount: number
  /** About how many bytes its rows have in the engine's memory. */
  readonly memoryBytes: number
  /** About how many bytes the rows that are read together have in the engine's memory. */
  readonly vectorBytes: number
  /** A file without rows that is read along with this one when it is read alone, see {@link emptyFile}. */
  readonly companion?: string
}

/** A data file of a scan; `index` numbers the files of the whole scan. */
export interface ScanInput extends StagedFile {
  readonly index: number
  readonly task: FileScanTask
}

/** Gives files without field ids theirs; see {@link withFieldIds} for data files. */
type IdAssigner = (shape: FileShape, location: string) => FileShape

/**
 * Stages the data files of a scan and reads their footers. `CORRUPT_FILE` when a footer has another number of rows
 * than the manifest: whichever is wrong, rows would be lost or added unnoticed.
 */
export async function openInputs(
  context: StageContext,
  tasks: readonly FileScanTask[],
  prefix = 'd',
): Promise<readonly ScanInput[]> {
  const assign: IdAssigner = (shape, location) => withFieldIds(shape, context.metadata, location)
  const files = await openFiles(
    context,
    tasks.map((task) => task.dataFile),
    { prefix, assign },
  )
  return tasks.map((task, index) => {
    const staged = files[index]
    if (staged === undefined) throw new IcebergError('ENGINE_FAILED', `${task.dataFile.filePath} was not staged`)
    if (staged.rowCount !== task.dataFile.recordCount) {
      throw new IcebergError(
        'CORRUPT_FILE',
        `${task.dataFile.filePath} has ${staged.rowCount} rows, but its manifest says ${task.dataFile.recordCount}`,
      )
    }
    return { ...staged, index, task }
  })
}

/** Stages files and reads their footers; the result is in the order of `files`. */
export async function openFiles(
  context: StageContext,
  files: readonly DataFile[],
  { prefix, assign }: { readonly prefix: string; readonly assign: IdAssigner },
): Promise<readonly StagedFile[]> {
  const { run, io } = context
  const parquet = files.filter((file) => file.fileFormat === 'parquet').map((file) => file.filePath)
  const avro = files.filter((file) => file.fileFormat === 'avro').map((file) => file.filePath)
  const paths = new Map<string, string>()
  for (const [at, path] of (await stageFiles(run, io, { locations: parquet, prefix })).entries()) {
    paths.set(parquet[at] ?? '', path)
  }
  for (const [location, path] of await stageAvroFiles(context, { locations: avro, prefix })) paths.set(location, path)
  const inspected = await inspectFiles(run, [...paths.values()])
  for (const [path, { hasInt96, rowCount }] of inspected) {
    if (hasInt96 && rowCount > 0) await requireInt96InRange(run, path)
  }
  const assigned = new Map<FileShape, FileShape>()
  const companion = [...inspected.values()].some(isWorthSplitting) ? await emptyFile(run) : undefined
  return files.map((file) => {
    const path = paths.get(file.filePath)
    const found = path === undefined ? undefined : inspected.get(path)
    if (path === undefined || found === undefined) {
      throw new IcebergError('CORRUPT_FILE', `${file.filePath} has no readable footer`)
    }
    const shape = assigned.get(found.shape) ?? assign(found.shape, file.filePath)
    assigned.set(found.shape, shape)
    const { rowCount, memoryBytes, vectorBytes } = found
    const staged = { file, path, shape, rowCount, memoryBytes, vectorBytes }
    return companion !== undefined && isWorthSplitting(found) ? { ...staged, companion } : staged
  })
}
