import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import type { QueryInput } from '../../engines/engine.ts'
import type { ChangeScanTask } from '../../iceberg/changes/changed-files.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { CompiledInput } from '../../streaming/sink/batch-query.ts'
import { planLookup } from '../../streaming/source/lookup-plan.ts'
import { newestBatches, type NewestBounds, type NewestFiles } from '../../streaming/source/newest-batches.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'

/** A source table and the files of it that a rehearsal reads. */
export interface RehearsalSource {
  readonly name: string
  readonly table: Table
  readonly files: NewestFiles
}

/** The tables that two versions read. */
export interface RehearsalTables {
  /** Of which the newest batches are read. */
  readonly sources: readonly RehearsalSource[]
  /** Of which all rows are read. */
  readonly lookups: readonly RehearsalSource[]
}

/** A larger file is refused, because one in an object store is copied as a whole. */
const MAX_FILE_BYTES = 2 * 2 ** 30

/** Chooses the newest files of tables. Throws `UNPROCESSABLE` for files that are too large; errors of the catalog. */
export function readSources(
  catalog: CatalogService,
  names: ReadonlySet<string>,
  bounds: NewestBounds,
): Promise<readonly RehearsalSource[]> {
  return Promise.all([...names].map((name) => readSource(catalog, name, bounds)))
}

async function readSource(catalog: CatalogService, name: string, bounds: NewestBounds): Promise<RehearsalSource> {
  const table = await catalog.current().loadTable(parseIdentifier(name))
  const files = await newestBatches(table, bounds)
  const large = files.tasks.find(({ dataFile }) => dataFile.fileSizeInBytes > MAX_FILE_BYTES)
  if (large === undefined) return { name, table, files }
  const { fileSizeInBytes } = large.dataFile
  throw new DomainError(
    'UNPROCESSABLE',
    `${name} has a new file of ${fileSizeInBytes} bytes: too large to rehearse with`,
  )
}

/** Plans lookup tables as they are now. Errors as {@link readSources}, and `LIMIT_EXCEEDED` for a table that is too large. */
export async function readLookups(
  catalog: CatalogService,
  names: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly RehearsalSource[]> {
  const lookups: RehearsalSource[] = []
  for (const name of names) {
    const table = await catalog.current().loadTable(parseIdentifier(name))
    const tasks = await planLookup(table, signal)
    const { currentSnapshotId: id } = table.metadata
    lookups.push({ name, table, files: { tasks, snapshotIds: id === undefined ? [] : [id], isCut: false } })
  }
  return lookups
}

/** The rows of a source, under the name that queries use; where changes are read, each row is an inserted one. */
export function inputOf({ table, files }: RehearsalSource, input: CompiledInput): QueryInput {
  const { io, metadata } = table
  const { tasks, maxRows } = files
  const inputs = input.changes === undefined ? tasks : tasks.map(insertedRows)
  return { ...input, io, metadata, inputs, ...(maxRows === undefined ? {} : { maxRows }) }
}

function insertedRows(task: FileScanTask): ChangeScanTask {
  return { ...task, change: { ordinal: 0, snapshotId: 0n, side: 'after', isPaired: false } }
}
