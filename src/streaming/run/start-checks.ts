import { memberOf } from '../../catalog/catalog.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { CreateTableOptions } from '../../catalog/names.ts'
import { isTableMissing } from '../../catalog/load-if-present.ts'
import { formatIdentifier, parseIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Engine } from '../../engines/engine.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { ownedFolders } from '../../iceberg/metadata/locations.ts'
import { CHANGE_COLUMNS, isChangeColumn } from '../../iceberg/changes/change-columns.ts'
import { currentSchema, currentSnapshot, currentSpec } from '../../iceberg/metadata/metadata.ts'
import type { PartitionSpec } from '../../iceberg/partitioning/partitioning.ts'
import { fieldById, highestFieldId, type Schema } from '../../iceberg/schema/schema.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { requireSupportedProperties } from '../../iceberg/metadata/table-properties.ts'
import type { BatchQuery, CompiledMerge, OtherTables } from '../sink/batch-query.ts'
import { Checkpoint, type CheckpointOwner, type CheckpointState } from '../checkpoint/checkpoint.ts'
import { type CheckpointRoots, resolveCheckpointLocation } from '../checkpoint/location.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import { backfillOffset } from '../recovery/recover.ts'
import { type KnownProgress, listBranchProgress, listProgress, type SinkProgress } from '../sink/progress.ts'
import { keyLayout } from '../sink/key-layout.ts'
import { keyColumns } from '../sink/merge-key.ts'
import { mergeProblem } from '../sink/merge-rows.ts'
import { compileProblem, FOLLOWS_SOURCE, schemasOf } from '../sink/schema.ts'
import { checkUniqueKeys } from './unique-keys.ts'
import { type ReadPosition, toCount, unreadHistory } from '../source/history.ts'
import { requireFreeBranch } from './start-branch.ts'
import { type RequestedBegin, requestedStart, withStart } from './start-positions.ts'
import { mirrorWarnings, startWarnings } from './start-warnings.ts'
import type { IntoBranch } from '../../schemas/pipelines.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** A requested start. */
export interface StartRequest {
  readonly sources: readonly string[]
  readonly sink: string
  readonly checkpointLocation: string
  readonly createSinkTable: boolean
  readonly query: BatchQuery
  /** Where a new checkpoint begins; absent: with the current rows. */
  readonly begin?: RequestedBegin | undefined
  /** The branch of the sink that gets the rows first. */
  readonly branch?: IntoBranch | undefined
}

export interface StartCheckDeps {
  readonly catalog: Catalog
  readonly engine: Engine
  readonly checkpointIo: FileIO
  readonly roots: CheckpointRoots
}

/** A start that passed all checks. */
export interface CheckedStart {
  readonly sources: readonly Table[]
  /** Undefined: it must be created; see {@link createSink}. */
  readonly sink: Table | undefined
  readonly checkpointLocation: string
  readonly checkpoint: CheckpointState
  /** The id in the checkpoint, or that of a deleted checkpoint at this location; undefined for a new one. */
  readonly queryId: string | undefined
  /** The positions to begin at that were requested; undefined: with the current rows. */
  readonly start: readonly ReadPosition[] | undefined
  /** Where reading will start, or earlier: later snapshots must not expire from the start on. */
  readonly positions: readonly ReadPosition[]
  readonly warnings: readonly string[]
}

/**
 * Checks everything about a start that can be known in advance; changes nothing. Throws `DomainError` with the field in
 * `fields`: unknown or unreadable tables, a checkpoint outside the allowed folders, damaged or of another pipeline,
 * incompatible schemas.
 */
export async function checkStart(deps: StartCheckDeps, request: StartRequest): Promise<CheckedStart> {
  const sources: Table[] = []
  for (const name of request.sources) sources.push(await loadTable(deps.catalog, 'source_table', name))
  const sink = await loadSink(deps.catalog, request)
  requireApart(sources, request.sink, sink)
  for (const source of sources) requireUnencrypted(source, 'source_table')
  if (sink) {
    requireUnencrypted(sink, 'sink_table')
    requireWritableTable(sink, 'sink_table')
  }
  const folders = [...sources, ...(sink ? [sink] : [])].flatMap(({ metadata }) => ownedFolders(metadata))
  const checkpointLocation = await resolveCheckpointLocation(request.checkpointLocation, deps.roots, folders)
  const found = await readCheckpoint(deps, checkpointLocation, sources.length)
  requireOwn(found, { sources, sink })
  const others = await loadOthers(deps.catalog, request.query.others, { sources, sink })
  const known = sink ? progressIn(sink) : []
  const lost = lostQuery(listAll(sink), sources, checkpointLocation)
  const queryId = found.queryId ?? lost?.queryId
  const unchecked = await requireFittingSink(deps.engine, request.query, { sources, sink, others, known, queryId })
  requireFreeBranch(request.branch, { sink, queryId, query: request.query })
  const { reads } = request.query
  const start = await requestedStart(request.begin, { sources, reads, state: found, isLost: lost !== undefined })
  const state = withStart(found, start)
  return {
    sources,
    sink,
    checkpointLocation,
    checkpoint: state,
    queryId,
    start,
    positions: beginning(state, sources, lost?.progress),
    warnings: [
      ...unchecked,
      ...(state.latest ? [] : startWarnings(sources, { known, isLost: lost !== undefined, start })),
      ...(state.latest || lost ? [] : mirrorWarnings(request.query, sink)),
    ],
  }
}

interface FittingSink {
  readonly sources: readonly Table[]
  readonly sink: Table | undefined
  readonly others: ReadonlyMap<string, Table>
  readonly known: readonly KnownProgress[]
  readonly queryId: string | undefined
}

/** Requires that the rows fit the sink, or one that can be created; returns warnings. */
async function requireFittingSink(
  engine: Engine,
  query: BatchQuery,
  { sources, sink, others, known, queryId }: FittingSink,
): Promise<readonly string[]> {
  if (sink === undefined) {
    await requireCopyable(engine, query, sources)
    return []
  }
  const merge = await requireFitting(engine, query, { sources, sink, others })
  if (merge === undefined) return []
  const before = known.find((own) => own.queryId === queryId)?.progress.keyIds ?? []
  // a sink that this pipeline merges into by the key already has each key once
  return before.join() === merge.keyIds.join() ? [] : checkUniqueKeys(engine, sink, merge)
}

/** The checked start of a checkpoint that begins at these positions unless it has begun. */
export function beginAt(checked: CheckedStart, start: readonly ReadPosition[] | undefined): CheckedStart {
  return { ...checked, start, checkpoint: withStart(checked.checkpoint, start) }
}

/** Errors that permanently prevent reading a table of the catalog. */
const UNREADABLE: ReadonlySet<string> = new Set(['FILE_NOT_FOUND', 'CORRUPT_FILE', 'INVALID_METADATA', 'UNSUPPORTED'])

async function loadTable(catalog: Catalog, field: string, name: string): Promise<Table> {
  try {
    return await catalog.loadTable(parseIdentifier(name))
  } catch (error) {
    if (isTableMissing(error)) {
      throw refuse('NOT_FOUND', field, { what: `table ${name} does not exist`, cause: error })
    }
    if (isIcebergError(error, 'INVALID_ARGUMENT'))
      throw refuse('INVALID_REQUEST', field, { what: error.message, cause: error })
    if (isIcebergError(error) && UNREADABLE.has(error.code))
      throw refuse('UNPROCESSABLE', field, { what: error.message, cause: error })
    throw error
  }
}

async function loadSink(catalog: Catalog, { sink, createSinkTable }: StartRequest): Promise<Table | undefined> {
  try {
    return await loadTable(catalog, 'sink_table', sink)
  } catch (error) {
    if (createSinkTable && error instanceof DomainError && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

function requireApart(sources: readonly Table[], sinkName: string, sink: Table | undefined): void {
  const isSame = sources.some(
    ({ identifier, metadata }) =>
      formatIdentifier(identifier) === sinkName ||
      (sink !== undefined && metadata.tableUuid !== '' && metadata.tableUuid === sink.metadata.tableUuid),
  )
  if (isSame) throw refuse('INVALID_REQUEST', 'sink_table', 'must be a different table than the source')
}

function requireUnencrypted({ identifier, metadata }: Table, field: string): void {
  if (!metadata.encrypted) return
  throw refuse('UNPROCESSABLE', field, `table ${formatIdentifier(identifier)} is encrypted`)
}

function requireWritableTable({ metadata }: Table, field: string): void {
  try {
    requireSupportedProperties(metadata.properties)
  } catch (error) {
    throw isIcebergError(error) ? refuse('UNPROCESSABLE', field, { what: error.message, cause: error }) : error
  }
}

async function readCheckpoint(deps: StartCheckDeps, location: string, sources: number): Promise<CheckpointState> {
  const isFile = (await deps.checkpointIo.stat(location)) !== undefined
  if (isFile) throw refuse('UNPROCESSABLE', 'checkpoint_location', 'is a file, not a folder')
  try {
    return await new Checkpoint(deps.checkpointIo, location).read(sources)
  } catch (error) {
    if (!isIcebergError(error)) throw error
    const isDamaged = ['CORRUPT_FILE', 'UNSUPPORTED', 'INVALID_METADATA'].includes(error.code)
    if (isDamaged) throw refuse('UNPROCESSABLE', 'checkpoint_location', { what: error.message, cause: error })
    if (error.code === 'IO_FAILED')
      throw refuse('UNPROCESSABLE', 'checkpoint_location', { what: 'cannot be read as a folder', cause: error })
    throw error
  }
}

interface StartTables {
  readonly sources: readonly Table[]
  readonly sink: Table | undefined
}

/** The checkpoint must belong to these tables; one written by Spark is recognised by its snapshot ids. */
function requireOwn({ owner, latest, initial }: CheckpointState, tables: StartTables): void {
  if (owner !== undefined) {
    requireOwner(owner, tables)
    return
  }
  for (const [at, table] of tables.sources.entries()) {
    const offset = latest?.offsets[at] ?? initial[at]
    if (offset === undefined) continue
    try {
      unreadHistory(table, { offset, isComplete: false })
    } catch (error) {
      if (!(error instanceof PipelineStopped)) throw error
      throw checkpointConflict(
        `contains the checkpoint of another source, or of snapshots that ${formatIdentifier(table.identifier)} no longer has`,
      )
    }
  }
}

function requireOwner(owner: CheckpointOwner, { sources, sink }: StartTables): void {
  const isSink = sink !== undefined && isStampOf(owner.sink, sink)
  const areSources =
    owner.sources.length === sources.length && sources.every((table, at) => isStampOf(owner.sources[at], table))
  if (isSink && areSources) return
  const tables = `from ${owner.sources.map(({ table }) => table).join(', ')} into ${owner.sink.table}`
  throw checkpointConflict(`contains the checkpoint of another pipeline, ${tables}`)
}

function checkpointConflict(what: string): DomainError {
  return refuse('CONFLICT', 'checkpoint_location', what)
}

function isStampOf(stamp: { readonly uuid: string } | undefined, { metadata }: Table): boolean {
  return stamp?.uuid === metadata.tableUuid
}

interface FittingTables {
  readonly sources: readonly Table[]
  readonly sink: Table
  readonly others: ReadonlyMap<string, Table>
}

/** Lookup tables, and tables of diverted rows, which must be neither the sink nor a source. */
async function loadOthers(
  catalog: Catalog,
  { lookups, diverts }: OtherTables = { lookups: [], diverts: [] },
  { sources, sink }: StartTables,
): Promise<ReadonlyMap<string, Table>> {
  const others = new Map<string, Table>()
  for (const name of new Set([...lookups, ...diverts])) {
    const table = await loadTable(catalog, 'version_id', name)
    requireUnencrypted(table, 'version_id')
    others.set(name, table)
    if (!diverts.includes(name)) continue
    requireWritableTable(table, 'version_id')
    const { tableUuid: uuid } = table.metadata
    const isTaken = [...sources, ...(sink ? [sink] : [])].some(
      ({ metadata }) => uuid !== '' && metadata.tableUuid === uuid,
    )
    if (isTaken)
      throw refuse('UNPROCESSABLE', 'version_id', `the table ${name} of diverted rows is the sink or a source`)
  }
  return others
}

async function requireFitting(
  engine: Engine,
  query: BatchQuery,
  { sources, sink, others }: FittingTables,
): Promise<CompiledMerge | undefined> {
  const schema = currentSchema(sink.metadata)
  await requireWritable(engine, schema, 'sink_table')
  const schemas = sources.map(({ metadata }) => currentSchema(metadata))
  for (const name of query.others?.diverts ?? []) {
    const target = others.get(name)
    if (target) await requireWritable(engine, currentSchema(target.metadata), 'version_id')
  }
  const compiled = await query.compile({ sources: schemas, sink: schema, others: schemasOf(others), known: [] })
  const problem =
    compileProblem(compiled, sink, query.onSchemaChange) ?? (compiled.merge && mergeProblem(sink.metadata))
  if (problem !== undefined) throw refuse('UNPROCESSABLE', 'sink_table', problem)
  return compiled.merge
}

async function requireCopyable(engine: Engine, query: BatchQuery, sources: readonly Table[]): Promise<void> {
  const [source] = sources
  if (source === undefined || sources.length > 1) {
    throw refuse('UNPROCESSABLE', 'create_sink_table', 'needs exactly one source, whose schema the new sink gets')
  }
  const schema = currentSchema(source.metadata)
  await requireWritable(engine, schema, 'source_table')
  const { problems } = await query.compile({ sources: [schema], sink: sinkSchema(source, query), known: [] })
  if (problems.length > 0) throw refuse('UNPROCESSABLE', 'source_table', problems.join('; '))
}

async function requireWritable(
  engine: Engine,
  schema: Table['metadata']['schemas'][number],
  field: string,
): Promise<void> {
  try {
    await engine.requireWritable?.(schema)
  } catch (error) {
    if (isIcebergError(error, 'UNSUPPORTED'))
      throw refuse('UNPROCESSABLE', field, { what: error.message, cause: error })
    throw error
  }
}

/** The query whose checkpoint was here, from the sink's progress, so that a deleted folder causes no duplicate reads. */
function lostQuery(
  known: readonly KnownProgress[],
  sources: readonly Table[],
  location: string,
): KnownProgress | undefined {
  const found = known.filter(
    ({ progress }) =>
      progress.checkpointLocation === location &&
      progress.sources.length === sources.length &&
      progress.sources.every(({ uuid }, at) => uuid === sources[at]?.metadata.tableUuid),
  )
  return found.at(-1)
}

function listAll(sink: Table | undefined): readonly KnownProgress[] {
  if (sink === undefined) return []
  return [...listProgress(sink.metadata), ...listBranchProgress(sink.metadata)]
}

function progressIn(sink: Table): readonly KnownProgress[] {
  try {
    return listProgress(sink.metadata)
  } catch (error) {
    if (!isIcebergError(error, 'INVALID_METADATA') && !isIcebergError(error, 'UNSUPPORTED')) throw error
    throw refuse('UNPROCESSABLE', 'sink_table', { what: error.message, cause: error })
  }
}

/** Start of the last planned batch of the checkpoint, or of a lost one, else the current rows of the sources. */
function beginning(state: CheckpointState, sources: readonly Table[], lost: SinkProgress | undefined): ReadPosition[] {
  const { latest, previous, initial } = state
  return sources.map((table, at) => {
    const logged = previous?.offsets[at] ?? initial[at] ?? latest?.offsets[at]
    const known = logged === undefined ? lost?.positions[at] : { offset: logged, isComplete: false }
    return known ?? { offset: backfillOffset(table), isComplete: false }
  })
}

/** A sink to create. */
export interface NewSink {
  readonly sink: TableIdentifier
  readonly query: BatchQuery
}

/**
 * Creates the sink of a checked start from the schema of its source: with the same partitioning, or laid out for its key. A sink that
 * changes are appended to also has their columns. Throws `CONFLICT` with the field when a table or view of this name now exists.
 */
export async function createSink(catalog: Catalog, source: Table, { sink, query }: NewSink): Promise<void> {
  const { metadata } = source
  const schema = sinkSchema(source, query)
  await memberOf(catalog, sink).createNamespace(sink.namespace)
  try {
    await catalog.createTable(sink, {
      schema,
      ...sinkLayout(source, schema, query),
      formatVersion: metadata.formatVersion === 3 ? 3 : 2,
      properties: { [FOLLOWS_SOURCE]: 'true' },
    })
  } catch (error) {
    if (isIcebergError(error, 'TABLE_EXISTS'))
      throw refuse('CONFLICT', 'sink_table', { what: error.message, cause: error })
    throw error
  }
}

function sinkSchema({ metadata }: Table, { reads, write }: BatchQuery): Schema {
  const schema = { ...currentSchema(metadata), identifierFieldIds: [] }
  if (write !== undefined && write.mode !== 'append') {
    return { ...schema, fields: schema.fields.filter((field) => !isChangeColumn(field)) }
  }
  if (reads?.[0] !== 'changes') return schema
  const last = highestFieldId(schema)
  const changes = CHANGE_COLUMNS.map((field, at) => ({ ...field, id: last + 1 + at, required: false }))
  return { ...schema, fields: [...schema.fields, ...changes] }
}

function sinkLayout(
  source: Table,
  schema: Schema,
  { write }: BatchQuery,
): Pick<CreateTableOptions, 'partitionSpec' | 'sortOrder'> {
  if (write !== undefined && write.mode !== 'append') {
    const bytes = toCount(currentSnapshot(source.metadata)?.summary['total-files-size'])
    return keyLayout(schema, keyColumns(schema, write.key).fields, bytes)
  }
  const spec = portableSpec(source)
  return spec === undefined ? {} : { partitionSpec: spec }
}

/** The source's partition spec without fields of dropped columns or void transforms; undefined when none is left. */
function portableSpec({ metadata }: Table): PartitionSpec | undefined {
  const schema = currentSchema(metadata)
  const fields = currentSpec(metadata).fields.filter(
    ({ sourceId, transform }) =>
      transform.kind !== 'void' && transform.kind !== 'unknown' && fieldById(schema, sourceId) !== undefined,
  )
  return fields.length === 0 ? undefined : { specId: 0, fields }
}

/** An error that names the field; `problem` has the error that caused it, if there is one. */
export function refuse(
  code: DomainError['code'],
  field: string,
  problem: string | { readonly what: string; readonly cause: unknown },
): DomainError {
  const { what, cause } = typeof problem === 'string' ? { what: problem, cause: undefined } : problem
  return fieldRefusal(code, [{ path: field, message: what }], cause)
}
