import { IcebergError } from '../../../iceberg/errors.ts'
import { walkFields } from '../../../iceberg/schema/schema.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import type {
  DecimalType,
  ListType,
  MapType,
  NestedField,
  PrimitiveType,
  StructType,
  Type,
} from '../../../iceberg/schema/types.ts'

import type { FileField, FileType } from './file-schema.ts'
import { quoteName } from '../session/sql-text.ts'
import { finerTimestamp } from '../session/temporal-infinity.ts'
import { duckType, structMembers } from '../session/type-mapping.ts'
import { initialDefault } from '../session/value-literal.ts'

/** Where the values of a column of one file come from. */
export interface ColumnContext {
  /** The file, for error messages. */
  readonly location: string
  /** Whether some field of the file has the id, wherever it is. */
  readonly hasFieldId: (id: number) => boolean
  /** SQL of an identity partition value for a field that the file lacks, or undefined when there is none. */
  readonly partitionValue: (field: NestedField) => string | undefined
}

/** A column of a file, and the SQL of its values. */
export interface SourceColumn {
  readonly field: FileField
  readonly sql: string
}

/**
 * SQL for a table column over a file's rows, at any depth by field id: the file's column, promoted; else the identity
 * partition value; else the `initial-default`; else NULL (Iceberg spec, "Column Projection").
 * The source itself is returned when nothing has to change.
 */
export function columnExpression(
  target: NestedField,
  source: SourceColumn | undefined,
  context: ColumnContext,
): string {
  if (source === undefined) return missingValue(target, context)
  return convert(
    { source: source.sql, file: source.field.type, type: target.type, path: target.name, depth: 0 },
    context,
  )
}

function missingValue(target: NestedField, context: ColumnContext): string {
  requireAbsent(target, context)
  const constant = context.partitionValue(target)
  if (constant !== undefined) return constant
  if (target.required && (target.initialDefault === undefined || target.initialDefault === null)) {
    throw new IcebergError(
      'CORRUPT_FILE',
      `${context.location} lacks the required column ${target.name} (field id ${target.id})`,
    )
  }
  return initialDefault(target)
}

/** A default stands only for a field that the file really lacks: one in another place must not become NULL. */
function requireAbsent(target: NestedField, { location, hasFieldId }: ColumnContext): void {
  const misplaced = [...walkFields({ fields: [target] })].find(({ field }) => hasFieldId(field.id))?.field
  if (misplaced === undefined) return
  throw new IcebergError(
    'UNSUPPORTED',
    `${location} has field id ${misplaced.id} (${misplaced.name}) in another place than the table's schema has it, so column ` +
      `${target.name} cannot be read; rewrite the file with another engine`,
  )
}

interface Conversion {
  readonly source: string
  readonly file: FileType
  readonly type: Type
  /** Dotted path, for messages. */
  readonly path: string
  /** Keeps lambda parameters apart. */
  readonly depth: number
}

function convert(step: Conversion, context: ColumnContext): string {
  const { file, type } = step
  if (type.kind === 'struct' && file.kind === 'struct') return convertStruct(step, { file, type }, context)
  if (type.kind === 'list' && file.kind === 'list') return convertList(step, { file, type }, context)
  if (type.kind === 'map' && file.kind === 'map') return convertMap(step, { file, type }, context)
  if (type.kind !== 'struct' && type.kind !== 'list' && type.kind !== 'map' && file.kind === 'primitive') {
    const promoted = promote(step.source, file, type)
    if (promoted !== undefined) return promoted
  }
  throw mismatch(step, context)
}

function convertStruct(
  step: Conversion,
  { file, type }: { readonly file: FileType & { kind: 'struct' }; readonly type: StructType },
  context: ColumnContext,
): string {
  if (!type.fields.some(({ id }) => file.fields.some(({ fieldId }) => fieldId === id)))
    throw withoutMember(step, context)
  let isSame = file.fields.length === type.fields.length
  const members = structMembers(type.fields).map(([name, field], at) => {
    const from = file.fields.findIndex((candidate) => candidate.fieldId === field.id)
    const found = file.fields[from]
    const part = `struct_extract_at(${step.source}, ${from + 1})`
    const path = `${step.path}.${field.name}`
    const value = found
      ? convert({ source: part, file: found.type, type: field.type, path, depth: step.depth }, context)
      : missingValue(field, context)
    isSame &&= from === at && value === part && found?.name === name
    return `${quoteName(name)} := ${value}`
  })
  return isSame ? step.source : unlessNull(step, type, `struct_pack(${members.join(', ')})`)
}

/** Java reads such a struct as NULL, and other readers as a struct of NULLs. */
function withoutMember({ path }: Conversion, { location }: ColumnContext): IcebergError {
  return new IcebergError(
    'UNSUPPORTED',
    `struct ${path} in ${location} has none of the members that the table has, and readers disagree about such structs; rewrite the file with ` +
      `another engine`,
  )
}

function convertList(
  step: Conversion,
  { file, type }: { readonly file: FileType & { kind: 'list' }; readonly type: ListType },
  context: ColumnContext,
): string {
  if (file.element.fieldId !== type.elementId) throw mismatch(step, context)
  const variable = `e${step.depth}`
  const element = convert(
    {
      source: variable,
      file: file.element.type,
      type: type.element,
      path: `${step.path}.element`,
      depth: step.depth + 1,
    },
    context,
  )
  return element === variable
    ? step.source
    : unlessNull(step, type, `list_transform(${step.source}, lambda ${variable}: ${element})`)
}

function convertMap(
  step: Conversion,
  { file, type }: { readonly file: FileType & { kind: 'map' }; readonly type: MapType },
  context: ColumnContext,
): string {
  if (file.key.fieldId !== type.keyId || file.value.fieldId !== type.valueId) throw mismatch(step, context)
  const variable = `e${step.depth}`
  const part = (side: 'key' | 'value', at: number): readonly [source: string, value: string] => {
    const source = `struct_extract_at(${variable}, ${at})`
    const path = `${step.path}.${side}`
    return [source, convert({ source, file: file[side].type, type: type[side], path, depth: step.depth + 1 }, context)]
  }
  const [keySource, key] = part('key', 1)
  const [valueSource, value] = part('value', 2)
  if (key === keySource && value === valueSource) return step.source
  const entries = `list_transform(map_entries(${step.source}), lambda ${variable}: struct_pack(k := ${key}, v := ${value}))`
  return unlessNull(step, type, `map_from_entries(${entries})`)
}

/** A rebuilt value would not be NULL for a NULL input, so NULL is handled separately. */
function unlessNull(step: Conversion, type: Type, rebuilt: string): string {
  return `CASE WHEN ${step.source} IS NULL THEN NULL::${duckType(type)} ELSE ${rebuilt} END`
}

const INTEGERS: readonly string[] = ['TINYINT', 'UTINYINT', 'SMALLINT', 'USMALLINT', 'INTEGER']

/** File types that can hold values of an Iceberg type, including promotions (Iceberg spec, "Schema Evolution"). */
const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  boolean: ['BOOLEAN'],
  int: INTEGERS,
  long: [...INTEGERS, 'UINTEGER', 'BIGINT'],
  float: ['FLOAT'],
  double: ['FLOAT', 'DOUBLE'],
  date: ['DATE'],
  time: ['TIME', 'TIME WITH TIME ZONE'],
  timestamp: ['TIMESTAMP', 'TIMESTAMP_MS', 'TIMESTAMP_S', 'TIMESTAMP WITH TIME ZONE', 'DATE'],
  timestamptz: ['TIMESTAMP', 'TIMESTAMP_MS', 'TIMESTAMP_S', 'TIMESTAMP WITH TIME ZONE'],
  timestamp_ns: ['TIMESTAMP_NS', 'DATE'],
  string: ['VARCHAR', 'BLOB'],
  uuid: ['UUID', 'BLOB'],
  fixed: ['BLOB'],
  binary: ['BLOB', 'VARCHAR'],
}

/** Conversions between text, uuids and bytes that are not a CAST, by the kind of the target type. */
const RECODED: Readonly<Record<string, (source: string) => string>> = {
  string: (source) => `decode(${source})`,
  binary: (source) => `encode(${source})`,
  uuid: (source) => `CAST(hex(${source}) AS UUID)`,
}

/** Types with a larger range than the timestamps that they are read as. */
const COARSE: readonly string[] = ['DATE', 'TIMESTAMP_MS', 'TIMESTAMP_S']

/** The source as a value of the target type, or undefined when the file's type cannot hold such values. */
function promote(source: string, file: FileType & { kind: 'primitive' }, type: PrimitiveType): string | undefined {
  // DuckDB truncates nanoseconds with a zone to microseconds
  if (file.isUtcNanos) return undefined
  const target = type.kind === 'unknown' ? 'INTEGER' : duckType(type)
  if (file.duckType === target && file.isFromMillis !== true) return source
  if (type.kind === 'unknown') return `NULL::${target}`
  if (type.kind === 'decimal') return fitsDecimal(file.duckType, type) ? `CAST(${source} AS ${target})` : undefined
  if (!ACCEPTED[type.kind]?.includes(file.duckType)) return undefined
  const recode = RECODED[type.kind]
  if (recode !== undefined) return recode(source)
  return isCoarse(file) ? finerTimestamp(source, target) : `CAST(${source} AS ${target})`
}

/** Whether a finer type does not hold all values; the engine reads the greatest number of milliseconds as that of microseconds. */
function isCoarse({ duckType: type, isFromMillis }: FileType & { kind: 'primitive' }): boolean {
  return COARSE.includes(type) || isFromMillis === true
}

/** Whether a DuckDB type is a decimal of the same scale and no greater precision. */
function fitsDecimal(duckDbType: string, { precision, scale }: DecimalType): boolean {
  const match = /^DECIMAL\((\d+),(\d+)\)$/.exec(duckDbType)
  return match !== null && Number(match[1]) <= precision && Number(match[2]) === scale
}

function mismatch(step: Conversion, context: ColumnContext): IcebergError {
  return new IcebergError(
    'UNSUPPORTED',
    `column ${step.path} of type ${formatType(step.type)} cannot be read from ${context.location}, ` +
      `where it is ${step.file.duckType}`,
  )
}
