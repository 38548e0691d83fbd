import { IcebergError } from '../../../iceberg/errors.ts'
import { locationKey, sameLocation } from '../../../iceberg/io/location-identity.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import { isDeletionVector, readDeletionVector } from '../../../iceberg/puffin/deletion-vector.ts'

import { DELETE_COLUMNS, FILE_PATH, POS } from './delete-columns.ts'
import type { FileShape } from './file-schema.ts'
import { textOf } from '../session/result-values.ts'
import { openFiles } from './inputs.ts'
import type { ScanInput, StagedFile } from './inputs.ts'
import type { StageContext } from './stage-context.ts'
import { scanSql } from './scan-sql.ts'
import { TableFiller } from './table-filler.ts'

/**
 * Temporary table of deleted positions without duplicates. Column `k` has input and position in one number, which joins in half
 * the time and memory of two columns: see {@link positionKey}.
 */
export const POSITION_DELETES = 'position_deletes'

/** Bits of a key for the position; the rest is enough for 134 million files of 68 billion rows each. */
const POSITION_BITS = 36n

/** SQL of column `k` of {@link POSITION_DELETES}, given SQL of the input's number and the row's position in it. */
export function positionKey(input: string, position: string): string {
  return `(${input} * ${1n << POSITION_BITS} + ${position})`
}

/** SQL of the input's number in a key. */
export function inputOfKey(key: string): string {
  return `(${key} >> ${POSITION_BITS})`
}

/** SQL of the position in a key. */
export function positionOfKey(key: string): string {
  return `(${key} & ${(1n << POSITION_BITS) - 1n})`
}

const HDFS = /^(hdfs|viewfs|webhdfs):/i

/** A data file whose positions may be deleted; `index` numbers them. */
export interface DeleteTarget {
  readonly index: number
  readonly rowCount: number
  readonly file: Pick<DataFile, 'filePath'>
}

/** A position delete file and the inputs it applies to. */
export interface Applying<Target> {
  readonly file: DataFile
  readonly inputs: Set<Target>
}

/** Where position deletes are loaded: names that nothing else of the run uses. */
export interface DeleteLoad {
  /** Temporary table, which is created when an input has position deletes. */
  readonly table: string
  /** Prefix of staged files. */
  readonly prefix: string
  /** Begins the names of the tables of equality deletes; default: nothing. */
  readonly keyPrefix?: string
}

/**
 * Loads the position deletes and deletion vectors that apply to the inputs into a table with the column `k` of
 * {@link POSITION_DELETES}, and returns the inputs that have any. Positions after the end of a file are ignored.
 */
export async function loadPositionDeletes(
  context: StageContext,
  inputs: readonly ScanInput[],
  load: DeleteLoad,
): Promise<ReadonlySet<ScanInput>> {
  const vectors: { readonly input: ScanInput; readonly file: DataFile }[] = []
  const files = new Map<string, Applying<ScanInput>>()
  const affected = new Set<ScanInput>()
  for (const input of inputs) {
    for (const { file } of input.task.deletes) {
      if (file.content !== 'position-deletes') continue
      affected.add(input)
      if (isDeletionVector(file)) vectors.push({ input, file })
      else applying(files, file).inputs.add(input)
    }
  }
  if (affected.size === 0) return affected
  await context.run.execute(`CREATE TEMP TABLE ${load.table} (k BIGINT)`)
  for (const { input, file } of vectors) await loadVector(context, { input, file, table: load.table })
  if (files.size > 0) await loadFiles(context, [...files.values()], load)
  return affected
}

function applying(files: Map<string, Applying<ScanInput>>, file: DataFile): Applying<ScanInput> {
  const known = files.get(file.filePath)
  if (known) return known
  const added: Applying<ScanInput> = { file, inputs: new Set() }
  files.set(file.filePath, added)
  return added
}

interface VectorLoad {
  readonly input: ScanInput
  readonly file: DataFile
  readonly table: string
}

async function loadVector({ run, io }: StageContext, { input, file, table }: VectorLoad): Promise<void> {
  if (input.task.deletes.filter((other) => isDeletionVector(other.file)).length > 1) {
    throw new IcebergError('INVALID_METADATA', `${input.file.filePath} has more than one deletion vector`)
  }
  run.check()
  const positions = (await readDeletionVector(io, file)).toArray()
  const first = BigInt(input.index) << POSITION_BITS
  await TableFiller.fill(run, table, async (rows) => {
    for (const position of positions) {
      if (position >= input.rowCount) break
      const turn = rows.add([first + BigInt(position)])
      if (turn) await turn
    }
  })
}

async function loadFiles(
  context: StageContext,
  deletes: readonly Applying<ScanInput>[],
  { table, prefix }: DeleteLoad,
): Promise<void> {
  const keys = await deletedKeys(context, deletes, { table: `${table}_targets`, prefix })
  await context.run.execute(`INSERT INTO ${table} SELECT DISTINCT k FROM (${keys}) AS d`)
}

/** A SELECT of column `k` of {@link POSITION_DELETES}, with duplicates; `table` is that of {@link resolveDeletes}. */
async function deletedKeys(
  context: StageContext,
  deletes: readonly Applying<ScanInput>[],
  { table, prefix }: Pick<DeleteLoad, 'table' | 'prefix'>,
): Promise<string> {
  const inputs = new Set(deletes.flatMap((applies) => [...applies.inputs]))
  const { rows } = await resolveDeletes(context, { deletes, inputs, table, prefix })
  return `
    SELECT ${positionKey('m.f', 'r.pos')} AS k FROM (${rows}) AS r JOIN ${table} AS m ON m.d = r.d AND m.path = r.path
    WHERE r.pos >= 0 AND r.pos < m.n`
}

/** Rows among which deleted ones are looked up. */
export interface LookedUpRows {
  /** Temporary table of rows: column `k` of {@link POSITION_DELETES}. */
  readonly table: string
  /** The numbers of the inputs that the rows are in. */
  readonly numbers: ReadonlySet<number>
  /** Begins the names of staged files. */
  readonly prefix: string
}

/**
 * Removes the rows from a table that position delete files delete, of inputs without deletion vectors: a lookup of few rows is cheaper
 * than loading every deleted position.
 */
export async function removeDeletedByFiles(
  context: StageContext,
  inputs: readonly ScanInput[],
  { table, numbers, prefix }: LookedUpRows,
): Promise<void> {
  const files = new Map<string, Applying<ScanInput>>()
  for (const input of inputs) {
    for (const { file } of input.task.deletes) {
      if (file.content === 'position-deletes') applying(files, file).inputs.add(input)
    }
  }
  const deletes = [...files.values()].filter((applies) => [...applies.inputs].some(({ index }) => numbers.has(index)))
  if (deletes.length === 0) return
  const targets = `${table}_targets`
  const keys = await deletedKeys(context, deletes, { table: targets, prefix })
  await context.run.execute(`DELETE FROM ${table} WHERE k IN (${keys})`)
  await context.run.execute(`DROP TABLE ${targets}`)
}

/** Position delete files to be resolved. */
export interface DeleteResolution<Target extends DeleteTarget> {
  readonly deletes: readonly Applying<Target>[]
  /** Data files that paths may refer to. */
  readonly inputs: Iterable<Target>
  /** Name of the temporary table with what each path refers to: see {@link resolveDeletes}. */
  readonly table: string
  /** Begins the names of staged files. */
  readonly prefix: string
}

/** Opened position delete files. */
export interface ResolvedDeletes {
  /** In the order of the deletes. */
  readonly staged: readonly StagedFile[]
  /** SELECT of all rows: `d`, the position among the deletes, `path` and `pos`. */
  readonly rows: string
  /** Paths that refer to no input that their delete file applies to. */
  readonly unmatched: ReadonlySet<string>
}

/**
 * Opens position delete files and creates a temporary table of what their paths refer to: delete file `d`, `path`, number `f` of the
 * input and its rows `n`. `UNSUPPORTED` when it is unclear whether a path refers to an input.
 */
export async function resolveDeletes<Target extends DeleteTarget>(
  context: StageContext,
  { deletes, inputs, table, prefix }: DeleteResolution<Target>,
): Promise<ResolvedDeletes> {
  const { run, metadata } = context
  const staged = await openFiles(
    context,
    deletes.map(({ file }) => file),
    { prefix, assign: withDeleteIds },
  )
  const numbers = new Map(staged.map((file, at) => [file, at]))
  const scans = byShape(staged).map((group) =>
    scanSql(group, metadata, {
      columns: [
        { alias: 'path', field: FILE_PATH },
        { alias: 'pos', field: POS },
      ],
      perFile: [{ alias: 'd', values: group.map((file) => numbers.get(file) ?? 0) }],
    }),
  )
  const rows = scans.join(' UNION ALL ')
  const index = new InputIndex(inputs)
  const unmatched = new Set<string>()
  const named = await run.rows(`SELECT DISTINCT d, path FROM (${rows}) WHERE path IS NOT NULL`)
  await run.execute(`CREATE TEMP TABLE ${table} (d BIGINT, path VARCHAR, f BIGINT, n BIGINT)`)
  await TableFiller.fill(run, table, async (filler) => {
    for (const { d, path } of named) {
      const applies = deletes[Number(d)]
      const input = applies && index.find(applies, textOf(path))
      if (input === undefined) unmatched.add(textOf(path))
      const turn = input && filler.add([BigInt(Number(d)), textOf(path), BigInt(input.index), BigInt(input.rowCount)])
      if (turn) await turn
    }
  })
  return { staged, rows, unmatched }
}

/** Files of one shape, which can be read as one list, in the order of their first file. */
export function byShape(files: readonly StagedFile[]): StagedFile[][] {
  const groups = new Map<FileShape, StagedFile[]>()
  for (const file of files) {
    const group = groups.get(file.shape)
    if (group) group.push(file)
    else groups.set(file.shape, [file])
  }
  return [...groups.values()]
}

/** Finds inputs by the paths in delete files (docs/iceberg-notes.md#position-delete-paths). */
class InputIndex<Target extends DeleteTarget> {
  readonly #byPath = new Map<string, Target>()
  readonly #byKey = new Map<string, Set<Target>>()

  constructor(inputs: Iterable<Target>) {
    for (const input of inputs) this.#add(input)
  }

  /**
   * The input that a path refers to, if the delete applies to it; undefined for another file of the table.
   * `UNSUPPORTED` when it is unclear whether the path refers to an input.
   */
  find({ file, inputs }: Applying<Target>, path: string): Target | undefined {
    const exact = this.#byPath.get(path)
    if (exact) return inputs.has(exact) ? exact : undefined
    requireReferenced(file, path)
    const alike = [...(this.#byKey.get(locationKey(path)) ?? [])]
    const [same, ...others] = alike.filter((input) => isSameStore(input.file.filePath, path))
    if (same && others.length === 0) return inputs.has(same) ? same : undefined
    if (alike.length === 0) return undefined
    throw new IcebergError(
      'UNSUPPORTED',
      `${file.filePath} deletes rows of ${path}, and it is unclear whether that is ${alike[0]?.file.filePath ?? ''}`,
    )
  }

  #add(input: Target): void {
    const location = input.file.filePath
    this.#byPath.set(location, input)
    const key = locationKey(location)
    const alike = this.#byKey.get(key) ?? new Set<Target>()
    this.#byKey.set(key, alike.add(input))
  }
}

/** HDFS name nodes can have several names, so hosts are compared only for other schemes. */
function isSameStore(a: string, b: string): boolean {
  return sameLocation(a, b) || (HDFS.test(a) && HDFS.test(b))
}

/** A delete file whose manifest entry names one data file must not delete rows of another. */
function requireReferenced(file: DataFile, path: string): void {
  const { referencedDataFile } = file
  if (referencedDataFile === undefined || locationKey(referencedDataFile) === locationKey(path)) return
  throw new IcebergError(
    'CORRUPT_FILE',
    `${file.filePath} deletes rows of ${path}, but its manifest entry names ${referencedDataFile}`,
  )
}

/** Old writers omitted the field ids; the columns are then identified by name. */
function withDeleteIds(shape: FileShape, location: string): FileShape {
  const columns = shape.hasFieldIds
    ? shape.columns
    : shape.columns.map((column) => {
        const known = DELETE_COLUMNS.find((field) => field.name === column.fileName)
        return known ? { ...column, fieldId: known.id } : column
      })
  for (const field of DELETE_COLUMNS) {
    if (columns.some((column) => column.fieldId === field.id)) continue
    throw new IcebergError('CORRUPT_FILE', `the position delete file ${location} has no column ${field.name}`)
  }
  return { ...shape, columns }
}
