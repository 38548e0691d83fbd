import { join } from 'node:path'

import type { AvroEntries, AvroRecordValue, AvroValue } from '../../../iceberg/avro/avro-records.ts'
import { readAvroRecords } from '../../../iceberg/avro/avro-records.ts'
import type { AvroRecord, AvroSchema } from '../../../iceberg/avro/avro-schema.ts'
import { nullableOf } from '../../../iceberg/avro/avro-schema.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import { fieldById } from '../../../iceberg/schema/schema.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import type { NestedField, Type } from '../../../iceberg/schema/types.ts'

import type { DuckDbRun } from '../session/session.ts'
import { engineValue } from '../session/engine-values.ts'
import type { EngineValueFactory } from '../session/engine-values.ts'
import { fieldIdsOption } from '../session/field-ids-option.ts'
import { DELETE_COLUMNS } from './delete-columns.ts'
import type { StageContext } from './stage-context.ts'
import { quoteName, quoteText } from '../session/sql-text.ts'
import { TableFiller } from './table-filler.ts'
import { duckType, structMembers } from '../session/type-mapping.ts'
import { compareValues } from '../comparison/compare-values.ts'

/**
 * Stages Avro files as Parquet files with the same field ids, so that all further steps are the same. Returns staged
 * paths by location. The rows of one file are in memory at a time; Avro data files are rare and small.
 * `UNSUPPORTED` for files without field ids.
 */
export async function stageAvroFiles(
  context: StageContext,
  { locations, prefix }: { readonly locations: readonly string[]; readonly prefix: string },
): Promise<ReadonlyMap<string, string>> {
  const staged = new Map<string, string>()
  for (const [at, location] of locations.entries()) {
    const path = join(context.run.folder, `${prefix}avro${at}.parquet`)
    context.run.nameStaged(path, location)
    await stageFile(context, { location, path, table: `avro_${prefix}${at}` })
    staged.set(location, path)
  }
  return staged
}

interface AvroStage {
  readonly location: string
  readonly path: string
  readonly table: string
}

async function stageFile({ run, io, metadata }: StageContext, { location, path, table }: AvroStage): Promise<void> {
  const { schema, records } = readAvroRecords(await io.read(location), location)
  const fields = presentFields(schema, metadata, location)
  const columns = structMembers(fields)
  await run.execute(
    `CREATE TEMP TABLE ${table} (${columns.map(([name, field]) => `${quoteName(name)} ${duckType(field.type)}`).join(', ')})`,
  )
  const factory = await import('@duckdb/node-api')
  await TableFiller.fill(run, table, async (rows) => {
    for (const record of records) {
      const turn = rows.add(fields.map((field) => toEngine(factory, field.type, record.get(field.id) ?? null)))
      if (turn) await turn
    }
  })
  // no dictionaries, because they would merge 0.0 and -0.0
  const options = `FORMAT parquet, DICTIONARY_SIZE_LIMIT 0, FIELD_IDS ${fieldIdsOption(fields)}`
  await run.execute(`COPY ${table} TO ${quoteText(path)} (${options})`)
  await requireSameValues(run, fields, { location, path, table })
  await run.execute(`DROP TABLE ${table}`)
}

/** The staged file replaces the Avro file in all further steps, so it must have the decoded values. */
async function requireSameValues(
  run: DuckDbRun,
  fields: readonly NestedField[],
  { location, path, table }: AvroStage,
): Promise<void> {
  const columns = structMembers(fields).map(([name, field]) => `${quoteName(name)} AS c${field.id}`)
  const { isEqual, differing } = await compareValues(run, {
    expected: `SELECT ${columns.join(', ')} FROM ${table}`,
    found: `SELECT ${columns.join(', ')} FROM read_parquet(${quoteText(path)}, hive_partitioning = false)`,
    fields,
  })
  if (isEqual) return
  const names = differing.map(({ name }) => name).join(', ')
  throw new IcebergError('ENGINE_FAILED', `${location} was not staged correctly: ${names || 'rows'} changed`)
}

/** The table's columns that a file has, with the members and types in the file. */
function presentFields(schema: AvroRecord, metadata: TableMetadata, location: string): NestedField[] {
  const fields = schema.fields.flatMap((field) => {
    const known = field.fieldId === undefined ? undefined : knownField(metadata, field.fieldId)
    return known ? [{ ...known, required: false, type: presentType(known.type, field.schema) }] : []
  })
  if (fields.length > 0) return fields
  throw new IcebergError(
    'UNSUPPORTED',
    `${location} is an Avro file without field ids, so its columns cannot be identified`,
  )
}

function knownField(metadata: TableMetadata, id: number): NestedField | undefined {
  const current = metadata.schemas.filter((schema) => schema.schemaId === metadata.currentSchemaId)
  for (const schema of [...current, ...metadata.schemas.toReversed()]) {
    const found = fieldById(schema, id)
    if (found) return found
  }
  return DELETE_COLUMNS.find((field) => field.id === id)
}

function presentType(type: Type, schema: AvroSchema): Type {
  const avro = nullableOf(schema)?.schema ?? schema
  switch (type.kind) {
    case 'struct': {
      const members = avro.kind === 'record' ? avro.fields : []
      const fields = type.fields.flatMap((field) => {
        const found = members.find((member) => member.fieldId === field.id)
        return found ? [{ ...field, required: false, type: presentType(field.type, found.schema) }] : []
      })
      if (fields.length > 0) return { kind: 'struct', fields }
      break
    }
    case 'list':
      if (avro.kind === 'array') return { ...type, element: presentType(type.element, avro.items) }
      break
    case 'map': {
      const [key, value] = entrySchemas(avro)
      if (key && value) return { ...type, key: presentType(type.key, key), value: presentType(type.value, value) }
      break
    }
    default:
      return avro.kind === 'int' ? intType(type, avro.logicalType) : type
  }
  throw new IcebergError('UNSUPPORTED', `a column of type ${formatType(type)} cannot be read from Avro's ${avro.kind}`)
}

function entrySchemas(avro: AvroSchema): readonly (AvroSchema | undefined)[] {
  if (avro.kind === 'map') return [{ kind: 'string' }, avro.values]
  if (avro.kind !== 'array' || avro.items.kind !== 'record') return []
  return avro.items.fields.map((field) => field.schema)
}

/** An int keeps its type from before the promotion of its column. */
function intType(type: Type, logicalType: string | undefined): Type {
  if (logicalType === 'date') return { kind: 'date' }
  return type.kind === 'long' ? { kind: 'int' } : type
}

type EngineValue = ReturnType<typeof engineValue>

function toEngine(factory: EngineValueFactory, type: Type, value: AvroValue): EngineValue {
  if (value === null) return null
  switch (type.kind) {
    case 'struct': {
      const record = value as AvroRecordValue
      const members = structMembers(type.fields).map(([name, field]) => [
        name,
        toEngine(factory, field.type, record.get(field.id) ?? null),
      ])
      return factory.structValue(Object.fromEntries(members) as Record<string, EngineValue>)
    }
    case 'list':
      return factory.listValue(
        (value as readonly AvroValue[]).map((element) => toEngine(factory, type.element, element)),
      )
    case 'map':
      return factory.mapValue(
        [...(value as AvroEntries | ReadonlyMap<string, AvroValue>)].map(([key, item]) => ({
          key: toEngine(factory, type.key, key),
          value: toEngine(factory, type.value, item),
        })),
      )
    default:
      if (typeof value === 'object' && !(value instanceof Uint8Array)) {
        throw new IcebergError('CORRUPT_FILE', `an Avro value is not a ${formatType(type)}`)
      }
      return engineValue(factory, type, value)
  }
}
