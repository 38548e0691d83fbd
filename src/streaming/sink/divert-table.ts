import type { Catalog } from '../../catalog/catalog.ts'
import { loadIfPresent } from '../../catalog/load-if-present.ts'
import { type Neighbour, neighboursOf } from '../../catalog/ownership/neighbours.ts'
import type { StagedRows } from '../../catalog/ownership/staged-rows.ts'
import { headerText, openAvroContainer } from '../../iceberg/avro/container-reader.ts'
import { isBelow } from '../../iceberg/io/location-identity.ts'
import { jsonEquals } from '../../iceberg/json/json-fields.ts'
import { type JsonValue, parseJson } from '../../iceberg/json/lossless-json.ts'
import { ownedFolders } from '../../iceberg/metadata/locations.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { partitionSpecToJson } from '../../iceberg/partitioning/partitioning.ts'
import { parseSchema, type Schema } from '../../iceberg/schema/schema.ts'
import { fieldToJson } from '../../iceberg/schema/type-json.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { readSinkState, type SinkProgress } from './progress.ts'
import { manifestLocation, readStaged, stillPending } from './staged-rows.ts'

/** A checkpoint, as far as it says which batches are done. */
export type DoneBatches = Pick<Checkpoint, 'isCommitted'>

/** Where rows that a batch diverted belong. */
export interface DivertTarget {
  readonly catalog: Catalog
  readonly sink: Table
  readonly queryId: string
  readonly progress: SinkProgress
  readonly checkpoint?: DoneBatches | undefined
}

/**
 * The table for staged rows: theirs, also under a new name, or one that was created in its place with the same location, columns and
 * partitioning. Undefined when the rows were committed before their table was dropped. Throws `DivertedRowsPending` when there is no such
 * table, `CHECKPOINT_MISMATCH` when files are missing, and errors of catalog and FileIO.
 */
export async function findDivertTable(target: DivertTarget, staged: StagedRows): Promise<Table | undefined> {
  const named = await loadIfPresent(target.catalog, staged.table)
  if (named?.metadata.tableUuid === staged.uuid) return named
  const renamed = await findRenamed(target, staged)
  if (renamed !== undefined) return renamed
  const { progress, queryId, checkpoint } = target
  if (await checkpoint?.isCommitted(progress.batchId)) return undefined
  if (named === undefined) throw stillPending(progress, staged, 'the table was dropped')
  const isDone = readSinkState(named.metadata, queryId).lastBatch >= progress.batchId
  if (!isDone) await requireSuccessor(named, progress, staged)
  return named
}

/** The table under another name, for example while the old name is that of a new table. */
async function findRenamed({ catalog, sink, progress }: DivertTarget, staged: StagedRows): Promise<Table | undefined> {
  const isSame = ({ footprint }: Neighbour): boolean =>
    staged.uuid !== '' && footprint.uuid === staged.uuid.toLowerCase()
  const found = (await neighboursOf(catalog, sink)).find(isSame)
  if (found === undefined) return undefined
  const { name, identifier } = found.entry
  if (identifier === undefined) throw stillPending(progress, staged, `the table is now ${name}`)
  const table = await loadIfPresent(catalog, identifier)
  return table?.metadata.tableUuid === staged.uuid ? table : undefined
}

/** Throws unless the staged files can become files of a table that was created in the place of theirs. */
async function requireSuccessor(table: Table, progress: SinkProgress, staged: StagedRows): Promise<void> {
  const manifest = manifestLocation(table, staged)
  if ((await table.io.stat(manifest)) === undefined && manifest !== staged.location) {
    throw stillPending(progress, staged, 'the table was replaced by a table with another location')
  }
  const files = await readStaged(table, progress, staged)
  const folders = ownedFolders(table.metadata)
  if (!files.every(({ filePath }) => folders.some((folder) => isBelow(filePath, folder)))) {
    throw stillPending(progress, staged, 'the table was replaced by a table with another folder for data')
  }
  if (!(await fits(table, manifest, staged))) {
    throw stillPending(progress, staged, 'the table was replaced by a table with other columns or partitions')
  }
}

/** Whether the table reads the files as the table did for which they were written: by field ids, and by the id of a spec. */
async function fits({ io, metadata }: Table, manifest: string, { specId }: StagedRows): Promise<boolean> {
  const { header } = openAvroContainer(await io.read(manifest), `manifest ${manifest}`)
  const written = parseSchema(parseJson(headerText(header, 'schema') ?? ''))
  const spec = metadata.partitionSpecs.find((known) => known.specId === specId)
  if (spec === undefined) return false
  const fields = parseJson(headerText(header, 'partition-spec') ?? '')
  return (
    jsonEquals(comparable(written), comparable(currentSchema(metadata))) &&
    jsonEquals(fields, partitionSpecToJson(spec)['fields'])
  )
}

/** The columns without what does not change how files are read. */
function comparable({ fields }: Schema): JsonValue {
  return fields.map((field) => ({ ...fieldToJson(field), doc: null }))
}
