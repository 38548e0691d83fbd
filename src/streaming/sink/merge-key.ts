import { KEY_TYPES, type SinkWrite } from '../../domain/pipelines/modes.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import { IncompatibleSchemas } from '../pipeline-errors.ts'
import type { CompiledMerge } from './batch-query.ts'

/** How rows are merged into a sink, or why they cannot be. */
export interface MergeKey {
  /** Undefined: the rows are appended, or there are problems. */
  readonly merge: CompiledMerge | undefined
  readonly problems: readonly string[]
}

/** Finds the key columns of a write in the schema of the sink. */
export function mergeKey(sink: Schema, write: SinkWrite | undefined): MergeKey {
  if (write === undefined || write.mode === 'append') return { merge: undefined, problems: [] }
  const { fields, problems } = keyColumns(sink, write.key)
  if (problems.length > 0) return { merge: undefined, problems }
  return { merge: { keyIds: fields.map(({ id }) => id), appliesDeletes: write.mode === 'mirror' }, problems }
}

/**
 * Throws `IncompatibleSchemas` when the key of a running pipeline has become another column, because columns of the sink were renamed, or one was
 * dropped and another one created. Rows would be searched in a column in which they never were. `before` are the field ids of the key so
 * far; empty: none.
 */
export function requireSameKey(before: readonly number[], merge: CompiledMerge | undefined): void {
  if (before.length === 0 || merge === undefined || before.join() === merge.keyIds.join()) return
  throw new IncompatibleSchemas(
    'a column of the key is another column of the sink than before: give the column that had the name its name back, or stop the ' +
      'pipeline and start it again, which checks that each key is in the sink once',
  )
}

/** The columns of a schema that identify a row, by their names. */
export function keyColumns(
  { fields }: Schema,
  key: readonly string[],
): { readonly fields: readonly NestedField[]; readonly problems: readonly string[] } {
  const problems: string[] = []
  const found = key.flatMap((name): NestedField[] => {
    const field = columnNamed(fields, name)
    if (field === undefined) problems.push(`there is no column ${name}, which the key names`)
    else if (!KEY_TYPES.has(field.type.kind)) {
      problems.push(`column ${name} is ${formatType(field.type)}, and such values cannot identify a row`)
    } else return [field]
    return []
  })
  if (new Set(found).size < found.length) problems.push('the key names a column twice')
  return { fields: found, problems }
}

/** A column by its name: the exact one, else the only one that differs in case. */
function columnNamed(fields: readonly NestedField[], name: string): NestedField | undefined {
  const exact = fields.find((field) => field.name === name)
  if (exact !== undefined) return exact
  const alike = fields.filter((field) => field.name.toLowerCase() === name.toLowerCase())
  return alike.length === 1 ? alike[0] : undefined
}
