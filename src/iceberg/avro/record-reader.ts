import { IcebergError } from '../errors.ts'
import { hasFieldIds, nullableOf } from './avro-schema.ts'
import type { AvroField, AvroRecord, AvroSchema } from './avro-schema.ts'
import type { ByteCursor } from './byte-cursor.ts'
import { skipAll } from './skipper.ts'

/** Reads one value at a cursor. */
export type Reader<V> = (cursor: ByteCursor) => V

/** Reads one value at a cursor into `target`. */
export type Step<T> = (cursor: ByteCursor, target: T) => void

/** How one field of a record is stored in a target; fields without a binding are skipped. */
export interface FieldBinding<T> {
  readonly fieldId: number
  /** Names to look for in files without any field ids; the first one is used in error messages. */
  readonly names: readonly string[]
  readonly required: boolean
  readonly bind: (schema: AvroSchema, byName: boolean) => Step<T>
}

/** A field that must exist and must not be null. */
export function requiredField<T, V>(
  fieldId: number,
  names: readonly string[],
  { read, set }: { read: (schema: AvroSchema) => Reader<V>; set: (target: T, value: V) => void },
): FieldBinding<T> {
  const onNull: Step<T> = (cursor) => {
    throw cursor.corrupt(`${names[0]} is null`)
  }
  return { fieldId, names, required: true, bind: (schema) => bindValue(schema, { read, set, onNull }) }
}

/** A field that may be missing or null; then the target is not changed. */
export function optionalField<T, V>(
  fieldId: number,
  names: readonly string[],
  { read, set }: { read: (schema: AvroSchema) => Reader<V>; set: (target: T, value: V) => void },
): FieldBinding<T> {
  return { fieldId, names, required: false, bind: (schema) => bindValue(schema, { read, set, onNull: () => {} }) }
}

/** A required field that is itself a record, whose fields go into the same target. */
export function nestedFields<T>(
  fieldId: number,
  names: readonly string[],
  bindings: readonly FieldBinding<T>[],
): FieldBinding<T> {
  const bind = (schema: AvroSchema, byName: boolean): Step<T> => {
    if (schema.kind !== 'record') throw wrongType(schema, 'record')
    return compileFields(schema, bindings, byName)
  }
  return { fieldId, names, required: true, bind }
}

/**
 * Compiles a record schema and bindings into one function that reads a record into a target.
 *
 * Fields are found by Iceberg field id; only when the schema has no field id anywhere, by their well-known names.
 * Throws `CORRUPT_FILE` when a required field is missing or a field has a wrong type.
 */
export function compileRecord<T>(schema: AvroSchema, bindings: readonly FieldBinding<T>[]): Step<T> {
  if (schema.kind !== 'record') throw wrongType(schema, 'record')
  const step = compileFields(schema, bindings, !hasFieldIds(schema))
  return (cursor, target) => {
    step(cursor, target)
    cursor.assertWithin()
  }
}

/** The error for a schema of the wrong type. */
export function wrongType(schema: AvroSchema, expected: string): IcebergError {
  return new IcebergError('CORRUPT_FILE', `The Avro schema has ${schema.kind} instead of ${expected}.`)
}

function compileFields<T>(schema: AvroRecord, bindings: readonly FieldBinding<T>[], byName: boolean): Step<T> {
  const chosen = schema.fields.map((field) => bindings.find((binding) => matches(binding, field, byName)))
  for (const binding of bindings) {
    if (binding.required && !chosen.includes(binding)) {
      const place = `${binding.names[0]} (field id ${binding.fieldId})`
      throw new IcebergError('CORRUPT_FILE', `The Avro schema has no field ${place}.`)
    }
  }
  const steps = compileSteps(schema.fields, chosen, byName)
  return (cursor, target) => {
    for (const step of steps) step(cursor, target)
  }
}

function compileSteps<T>(
  fields: readonly AvroField[],
  chosen: readonly (FieldBinding<T> | undefined)[],
  byName: boolean,
): Step<T>[] {
  const steps: Step<T>[] = []
  let unwanted: AvroSchema[] = []
  const flush = () => {
    if (unwanted.length > 0) steps.push(skipAll(unwanted))
    unwanted = []
  }
  for (const [index, field] of fields.entries()) {
    const binding = chosen[index]
    if (binding === undefined) {
      unwanted.push(field.schema)
    } else {
      flush()
      steps.push(binding.bind(field.schema, byName))
    }
  }
  flush()
  return steps
}

function matches<T>(binding: FieldBinding<T>, field: AvroField, byName: boolean): boolean {
  return byName ? binding.names.includes(field.name) : binding.fieldId === field.fieldId
}

interface ValueBinding<T, V> {
  readonly read: (schema: AvroSchema) => Reader<V>
  readonly set: (target: T, value: V) => void
  readonly onNull: Step<T>
}

function bindValue<T, V>(schema: AvroSchema, { read, set, onNull }: ValueBinding<T, V>): Step<T> {
  if (schema.kind === 'null') return onNull
  const nullable = nullableOf(schema)
  const reader = read(nullable?.schema ?? schema)
  if (nullable === undefined) return (cursor, target) => set(target, reader(cursor))
  const { nullBranch } = nullable
  return (cursor, target) => {
    const branch = cursor.readNumber()
    if (branch === nullBranch) onNull(cursor, target)
    else if (branch === 1 - nullBranch) set(target, reader(cursor))
    else throw cursor.corrupt('a union has an unknown branch')
  }
}
