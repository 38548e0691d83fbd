import { IcebergError } from '../../iceberg/errors.ts'
import { formatType } from '../../iceberg/type-names.ts'
import type { ListType, MapType, NestedField, PrimitiveType, StructType, Type } from '../../iceberg/types.ts'

import type { FileField, FileType } from './file-schema.ts'
import { quoteName } from './sql-text.ts'
import { finerTimestamp } from './temporal-infinity.ts'
import { duckType, structMembers } from './type-mapping.ts'
import { initialDefault } from './value-literal.ts'

/** Where the values of a column of one file come from. */
export interface ColumnContext {
  /** The file, for messages. */
  readonly location: string
  /** SQL of an identity partition value for a field that the file lacks, or undefined when there is none. */
  readonly partitionValue: (field: NestedField) => string | undefined
}

/**
 * SQL for a table column over a file's rows, at any depth by field id: the file's column, promoted; else the identity
 * partition value; else the `initial-default`; else NULL (Iceberg spec, "Column Projection").
 * The source itself is returned when nothing has to change. `source` is the SQL of the file's column.
 */
export function columnExpression(
  target: NestedField,
  file: FileField | undefined,
  source: string,
  context: ColumnContext,
): string {
  if (file === undefined) return missingValue(target, context)
  return convert({ source, file: file.type, type: target.type, path: target.name, depth: 0 }, context)
}

function missingValue(target: NestedField, context: ColumnContext): string {
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

function convertList(
  step: Conversion,
  { file, type }: { readonly file: FileType & { kind: 'list' }; readonly type: ListType },
  context: ColumnContext,
): string {
  requirePart(step, file.element, type.elementId, context)
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
  requirePart(step, file.key, type.keyId, context)
  requirePart(step, file.value, type.valueId, context)
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

/** A rebuilt value is built even from NULL, so NULL is kept apart. */
function unlessNull(step: Conversion, type: Type, rebuilt: string): string {
  return `CASE WHEN ${step.source} IS NULL THEN NULL::${duckType(type)} ELSE ${rebuilt} END`
}

function requirePart(step: Conversion, part: FileField, id: number, context: ColumnContext): void {
  if (part.fieldId !== id) throw mismatch(step, context)
}

const INTEGERS: readonly string[] = ['TINYINT', 'UTINYINT', 'SMALLINT', 'USMALLINT', 'INTEGER']

/** Types of file columns that hold values of an Iceberg type, promotions included (spec, "Schema Evolution"). */
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

/** Types whose ends lie beyond those of the timestamps that they are read as. */
const COARSE: readonly string[] = ['DATE', 'TIMESTAMP_MS', 'TIMESTAMP_S']

/** The source as a value of the target type, or undefined when the file's type cannot hold such values. */
function promote(source: string, file: FileType & { kind: 'primitive' }, type: PrimitiveType): string | undefined {
  // DuckDB cuts nanoseconds with a zone to microseconds
  if (file.isUtcNanos) return undefined
  const target = type.kind === 'unknown' ? 'INTEGER' : duckType(type)
  if (file.duckType === target) return source
  if (type.kind === 'unknown') return `NULL::${target}`
  if (type.kind === 'decimal') {
    const match = /^DECIMAL\((\d+),(\d+)\)$/.exec(file.duckType)
    const fits = match && Number(match[1]) <= type.precision && Number(match[2]) === type.scale
    return fits ? `CAST(${source} AS ${target})` : undefined
  }
  if (!ACCEPTED[type.kind]?.includes(file.duckType)) return undefined
  if (type.kind === 'string') return `decode(${source})`
  if (type.kind === 'binary') return `encode(${source})`
  if (type.kind === 'uuid') return `CAST(hex(${source}) AS UUID)`
  return COARSE.includes(file.duckType) ? finerTimestamp(source, target) : `CAST(${source} AS ${target})`
}

function mismatch(step: Conversion, context: ColumnContext): IcebergError {
  return new IcebergError(
    'UNSUPPORTED',
    `column ${step.path} of type ${formatType(step.type)} cannot be read from ${context.location}, ` +
      `where it is ${step.file.duckType}`,
  )
}
