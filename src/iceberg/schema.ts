import type { NestedField } from './types.ts'

/** A table schema (Iceberg spec, "Schemas"); field ids are unique over all nesting levels. */
export interface Schema {
  readonly schemaId: number
  readonly fields: readonly NestedField[]
  readonly identifierFieldIds: readonly number[]
}
