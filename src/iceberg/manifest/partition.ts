import { hasFieldIds, nullableOf } from '../avro/avro-schema.ts'
import type { AvroField, AvroSchema } from '../avro/avro-schema.ts'
import { wrongType } from '../avro/record-reader.ts'
import type { Reader } from '../avro/record-reader.ts'
import { typedScalarReader } from '../avro/scalar-reader.ts'
import { compileSkipper } from '../avro/skipper.ts'
import type { PartitionField, PartitionSpec, PartitionTuple } from '../partitioning/partitioning.ts'
import type { PrimitiveType, Value } from '../schema/types.ts'

/** Compiles a partition record's schema into a reader of tuples. */
export type PartitionReaderFactory = (schema: AvroSchema) => Reader<PartitionTuple>

/**
 * How partition values are read from the manifests of a spec: matched by partition field id, converted to the spec's
 * `types` (Iceberg spec, "Manifests", field 102). Fields that the manifest does not have are null.
 */
export function partitionReader(spec: PartitionSpec, types: readonly PrimitiveType[]): PartitionReaderFactory {
  return (schema) => {
    if (schema.kind !== 'record') throw wrongType(schema, 'record')
    const byName = !hasFieldIds(schema)
    const steps = schema.fields.map((field) => compileStep(field, { spec, types, byName }))
    const empty = spec.fields.map((): Value | null => null)
    return (cursor) => {
      const tuple = empty.slice()
      for (const { read, slot } of steps) {
        const value = read(cursor)
        if (slot >= 0) tuple[slot] = value
      }
      return tuple
    }
  }
}

interface PartitionLayout {
  readonly spec: PartitionSpec
  readonly types: readonly PrimitiveType[]
  readonly byName: boolean
}

interface PartitionStep {
  readonly read: Reader<Value | null>
  /** Position in the tuple; -1 for a field that the spec does not have. */
  readonly slot: number
}

function compileStep(field: AvroField, { spec, types, byName }: PartitionLayout): PartitionStep {
  const slot = spec.fields.findIndex((candidate) => matches(candidate, field, byName))
  const partitionField = spec.fields[slot]
  if (partitionField === undefined) {
    const skip = compileSkipper(field.schema)
    return { slot: -1, read: (cursor) => (skip(cursor), null) }
  }
  // Only the file knows the result type of an unknown transform.
  const known = partitionField.transform.kind === 'unknown' ? undefined : types[slot]
  return { slot, read: nullableReader(field.schema, known ?? { kind: 'unknown' }) }
}

function nullableReader(schema: AvroSchema, type: PrimitiveType): Reader<Value | null> {
  if (schema.kind === 'null') return () => null
  const nullable = nullableOf(schema)
  const read = typedScalarReader(nullable?.schema ?? schema, type)
  if (nullable === undefined) return read
  return (cursor) => {
    const branch = cursor.readNumber()
    if (branch === nullable.nullBranch) return null
    if (branch !== 1 - nullable.nullBranch) throw cursor.corrupt('a union has an unknown branch')
    return read(cursor)
  }
}

function matches(partitionField: PartitionField, field: AvroField, byName: boolean): boolean {
  return byName ? partitionField.name === field.name : partitionField.fieldId === field.fieldId
}
