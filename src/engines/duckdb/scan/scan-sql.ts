import { IcebergError } from '../../../iceberg/errors.ts'
import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import { partitionType } from '../../../iceberg/partitioning/partitioning.ts'
import type { NestedField, PrimitiveType, Value } from '../../../iceberg/schema/types.ts'
import { isNested } from '../../../iceberg/schema/types.ts'

import { columnExpression } from './column-expression.ts'
import type { ColumnContext } from './column-expression.ts'
import { FileConstants } from './file-constants.ts'
import { RESERVED_COLUMNS } from './file-schema.ts'
import type { FileField, FileShape } from './file-schema.ts'
import type { StagedFile } from './inputs.ts'
import { quoteName, quoteText, textList } from '../session/sql-text.ts'
import { finerTimestamp } from '../session/temporal-infinity.ts'
import { duckType } from '../session/type-mapping.ts'
import { valueLiteral } from '../session/value-literal.ts'

/** A column of a scan's result. */
export interface ScanColumn {
  readonly alias: string
  readonly field: NestedField
}

/** A column with one value per file. */
export interface PerFileColumn {
  readonly alias: string
  /** One per file of the scan. */
  readonly values: readonly number[]
}

export interface ScanRequest {
  readonly columns: readonly ScanColumn[]
  readonly perFile?: readonly PerFileColumn[]
  /** SQL over the scan's own `t`; gets the constants to add to. */
  readonly extra?: (build: ScanBuild) => readonly string[]
}

/** What {@link ScanRequest.extra} may use. */
export interface ScanBuild {
  readonly constants: FileConstants
  /** SQL of the row's position in its file. */
  readonly position: string
  /** SQL of a top-level column of the files by field id, or undefined when they lack it. */
  readonly fileColumn: (fieldId: number) => string | undefined
}

const POSITION = 't.file_row_number'
const FILE_NUMBER = 't.file_index::BIGINT'

/**
 * A SELECT over files of one shape, read as one list, with columns by field id
 * (docs/iceberg-notes.md#columns-by-field-id). The engine reads them by the names in these files: a name that it does not
 * find is an error, and an id that it does not find would be NULL. Only names that it confuses are read by id.
 */
export function scanSql(files: readonly StagedFile[], metadata: TableMetadata, request: ScanRequest): string {
  const shape = files[0]?.shape ?? NO_COLUMNS
  const constants = new FileConstants(FILE_NUMBER)
  const needed = new Map<number, FileField>()
  const column = (fieldId: number): FileField | undefined => {
    const found = shape.columns.find((candidate) => candidate.fieldId === fieldId)
    if (found === undefined) return undefined
    if (isReadById(shape) && found.isHiddenById === true) throw hiddenById(found, context.location)
    needed.set(fieldId, found)
    return found
  }
  const reference = (found: FileField): string =>
    isReadById(shape) ? `t.r${found.fieldId}` : `t.${quoteName(found.name)}`
  const context: ColumnContext = {
    location: files[0]?.file.filePath ?? '',
    hasFieldId: (id) => shape.footerIds.has(id),
    partitionValue: (field) => partitionValue(files, metadata, { field, constants }),
  }
  const list: string[] = request.columns.map(({ alias, field }) => {
    const found = column(field.id)
    return `${columnExpression(field, found && { field: found, sql: reference(found) }, context)} AS ${alias}`
  })
  for (const { alias, values } of request.perFile ?? []) list.push(`${constants.integer(values)} AS ${alias}`)
  const fileColumn = (fieldId: number): string | undefined => {
    const found = column(fieldId)
    return found && reference(found)
  }
  list.push(...(request.extra?.({ constants, position: POSITION, fileColumn }) ?? []))
  if (list.length === 0) list.push('1 AS one')
  const join = constants.join()
  const usesReserved = list.some((item) => item.includes(POSITION) || item.includes(FILE_NUMBER))
  if (usesReserved || join !== '') requireNoReservedNames(shape, context.location)
  return `SELECT ${list.join(', ')} FROM ${readParquet(files, shape, needed)} AS t ${join}`
}

const NO_COLUMNS: FileShape = { columns: [], hasFieldIds: false, footerIds: new Set(), isReadByName: true }

function isReadById({ hasFieldIds, isReadByName }: FileShape): boolean {
  return hasFieldIds && !isReadByName
}

function hiddenById({ fileName }: FileField, location: string): IcebergError {
  return new IcebergError(
    'UNSUPPORTED',
    `${location} has a field id in the repeated group of column ${fileName} and columns whose names the embedded engine cannot ` +
      `distinguish, so it cannot read the column; rewrite the file with another engine`,
  )
}

function readParquet(files: readonly StagedFile[], shape: FileShape, needed: ReadonlyMap<number, FileField>): string {
  const paths = textList(readTogether(files))
  if (!isReadById(shape)) return `read_parquet(${paths}, hive_partitioning = false)`
  const columns = [...needed].map(([id, field]) => {
    return `${id}: {name: 'r${id}', type: ${quoteText(field.type.duckType)}, default_value: NULL}`
  })
  // a scan without columns is also read by id, to avoid clashes with reserved names
  if (columns.length === 0) columns.push(`2147483000: {name: 'nothing', type: 'INTEGER', default_value: NULL}`)
  return `read_parquet(${paths}, hive_partitioning = false, schema = map{${columns.join(', ')}})`
}

/** A single large file is read together with its companion, which has no rows and so comes last in the numbering. */
function readTogether(files: readonly StagedFile[]): readonly string[] {
  const paths = files.map((file) => file.path)
  const companion = files.length === 1 ? files[0]?.companion : undefined
  return companion === undefined || files[0] === undefined || !isReadById(files[0].shape)
    ? paths
    : [...paths, companion]
}

function requireNoReservedNames(shape: FileShape, location: string): void {
  if (isReadById(shape)) return
  const clash = shape.columns.find((column) => RESERVED_COLUMNS.includes(column.fileName.toLowerCase()))
  if (clash === undefined) return
  throw new IcebergError(
    'UNSUPPORTED',
    `${location} has no field ids and a column named ${clash.fileName}, a name that the embedded engine reserves`,
  )
}

/**
 * The identity partition value of a column that the files lack; it is the value of all rows of its file
 * (docs/iceberg-notes.md#files-without-field-ids).
 */
function partitionValue(
  files: readonly StagedFile[],
  metadata: TableMetadata,
  { field, constants }: { readonly field: NestedField; readonly constants: FileConstants },
): string | undefined {
  const target = field.type
  if (isNested(target)) return undefined
  const literals: string[] = []
  for (const { file } of files) {
    const found = identityValue(file, metadata, field.id)
    if (found === undefined) return undefined
    literals.push(castLiteral(found, target))
  }
  return constants.column(literals)
}

interface TypedValue {
  readonly type: PrimitiveType
  readonly value: Value | null
}

function identityValue(file: StagedFile['file'], metadata: TableMetadata, fieldId: number): TypedValue | undefined {
  const spec = metadata.partitionSpecs.find((candidate) => candidate.specId === file.specId)
  const at = spec?.fields.findIndex((field) => field.sourceId === fieldId && field.transform.kind === 'identity') ?? -1
  if (spec === undefined || at < 0) return undefined
  const type = partitionType(spec, metadata.schemas)[at]
  return type === undefined ? undefined : { type, value: file.partition[at] ?? null }
}

function castLiteral({ type, value }: TypedValue, target: PrimitiveType): string {
  // a date partition of a column that was promoted to a timestamp is still a number of days
  const own: PrimitiveType = typeof value === 'number' && type.kind.startsWith('timestamp') ? { kind: 'date' } : type
  const literal = valueLiteral(own, value)
  if (own.kind === 'date' && target.kind !== 'date') return finerTimestamp(literal, duckType(target))
  return `CAST(${literal} AS ${duckType(target)})`
}
