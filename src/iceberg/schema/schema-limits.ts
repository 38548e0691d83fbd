import { IcebergError } from '../errors.ts'
import { type Schema, walkFields } from './schema.ts'

/** Fields of a schema on all levels. The widest tables that Spark and Java users report have about 10,000. */
export const MAX_FIELDS = 20_000
/** Fields of all schemas of a table together, which each load of the table reads. */
const MAX_FIELDS_OF_TABLE = 500_000
const MAX_NAME_LENGTH = 1000
const MAX_DOC_LENGTH = 64 * 1024

/**
 * Refuses (`INVALID_ARGUMENT`) a new schema of a table that is too large. A table that already has more, from another
 * system, may get schemas with as many fields and with the same names. `others`: the schemas that the table has.
 */
export function checkSchemaSize(schema: Schema, others: readonly Schema[]): void {
  const fields = countFields(schema)
  const counts = others.map(countFields)
  if (fields > Math.max(MAX_FIELDS, ...counts)) {
    throw refuse(`the schema has ${fields} fields on all levels, and at most ${MAX_FIELDS} are allowed`)
  }
  const total = counts.reduce((sum, count) => sum + count, fields)
  if (others.length > 0 && total > MAX_FIELDS_OF_TABLE) {
    const advice = 'expire old snapshots, which removes schemas that no snapshot needs'
    throw refuse(`the schemas of the table would have ${total} fields, and at most ${MAX_FIELDS_OF_TABLE}: ${advice}`)
  }
  checkTexts(schema, others)
}

function checkTexts(schema: Schema, others: readonly Schema[]): void {
  let known: Set<string> | undefined
  for (const { field } of walkFields(schema)) {
    for (const [what, text, most] of [
      ['name', field.name, MAX_NAME_LENGTH],
      ['doc', field.doc ?? '', MAX_DOC_LENGTH],
    ] as const) {
      if (text.length <= most) continue
      known ??= new Set(
        others.flatMap((other) => [...walkFields(other)].flatMap((one) => [one.field.name, one.field.doc ?? ''])),
      )
      if (known.has(text)) continue
      throw refuse(`the ${what} of column ${field.id} has ${text.length} characters, and at most ${most} are allowed`)
    }
  }
}

const counts = new WeakMap<Schema, number>()

/** Fields of a schema on all levels, elements, keys and values of lists and maps included. */
function countFields(schema: Schema): number {
  const known = counts.get(schema)
  if (known !== undefined) return known
  const count = [...walkFields(schema)].length
  counts.set(schema, count)
  return count
}

function refuse(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', problem)
}
