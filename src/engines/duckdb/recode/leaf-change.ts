import { IcebergError } from '../../../iceberg/errors.ts'
import { childFields } from '../../../iceberg/schema/schema.ts'
import { isNested } from '../../../iceberg/schema/types.ts'
import type { NestedField, PrimitiveType } from '../../../iceberg/schema/types.ts'

import { readInteger, readStored } from '../parquet/compact-struct.ts'
import { decimalBytes, WIDE_DECIMAL_BYTES } from '../session/decimal-bytes.ts'
import type { StoredStruct } from '../parquet/compact-struct.ts'
import type { StoredFooter } from '../parquet/stored-footer.ts'

/** How the engine's form of a leaf becomes that of the table (Iceberg spec, Appendix A, "Parquet"). */
export interface LeafChange {
  /** Position among the elements of the schema. */
  readonly element: number
  /** Position among the leaves. */
  readonly leaf: number
  /** Dotted path, for messages. */
  readonly path: string
  /** Whether the column becomes required, so that its pages have no definition levels. */
  readonly becomesRequired: boolean
  /** What the values become: texts of bytes or 16 bytes of a decimal, to so many bytes each; undefined: they stay. */
  readonly values: { readonly from: 'bytes' | 'decimal'; readonly length: number } | undefined
  readonly hasRepetitionLevels: boolean
  readonly hasDefinitionLevels: boolean
}

/** The pages of a column are in memory one at a time; a larger column chunk may be one page, and stays optional. */
const MAX_REQUIRED_CHUNK_BYTES = 64 * 1_048_576

/** Whether the engine writes some column in another form than the table asks for. Pure. */
export function needsRecoding(fields: readonly NestedField[]): boolean {
  return fields.some((field) => (field.required && !isNested(field.type)) || hasOtherValues(field))
}

function hasOtherValues({ type }: NestedField): boolean {
  return isNested(type) ? childFields(type).some(hasOtherValues) : otherValues(type) !== undefined
}

function otherValues(type: PrimitiveType): LeafChange['values'] {
  if (type.kind === 'fixed') return { from: 'bytes', length: type.length }
  if (type.kind !== 'decimal' || type.precision <= 18) return undefined
  const length = decimalBytes(type.precision)
  return length === WIDE_DECIMAL_BYTES ? undefined : { from: 'decimal', length }
}

/** How many optional or repeated, and how many repeated elements lead to a leaf. */
interface Levels {
  readonly definition: number
  readonly repetition: number
}

const OPTIONAL = 1
const REPEATED = 2

/**
 * The leaves of a file of the engine that have another form than the table asks for. A required column with nulls, which only a table that
 * breaks its own rule has, stays optional.
 */
export function leafChanges(footer: StoredFooter, fields: readonly NestedField[]): readonly LeafChange[] {
  const known = fieldsById(fields)
  const topLevel = new Set(fields.map(({ id }) => id))
  const changes: LeafChange[] = []
  let element = 0
  let leaf = 0
  const addLeaf = (at: number, node: StoredStruct, levels: Levels): void => {
    const own = leaf++
    const field = known.get(readInteger(node.get(9), footer.location) ?? 0)
    if (field === undefined || isNested(field.type)) return
    const mayBeRequired = field.required && topLevel.has(field.id) && levels.definition === 1 && levels.repetition === 0
    const becomesRequired = mayBeRequired && hasOnlySmallValues(footer, own)
    const values = otherValues(field.type)
    if (!becomesRequired && values === undefined) return
    const hasLevels = { hasRepetitionLevels: levels.repetition > 0, hasDefinitionLevels: levels.definition > 0 }
    changes.push({ element: at, leaf: own, path: field.name, becomesRequired, values, ...hasLevels })
  }
  const visit = (levels: Levels): void => {
    const at = element++
    const node = readStored(footer.schema[at] ?? new Uint8Array([0]), footer.location)
    const repetition = readInteger(node.get(3), footer.location)
    const inner = {
      definition: levels.definition + (repetition === OPTIONAL || repetition === REPEATED ? 1 : 0),
      repetition: levels.repetition + (repetition === REPEATED ? 1 : 0),
    }
    if (node.has(1)) return addLeaf(at, node, inner)
    for (let left = readInteger(node.get(5), footer.location) ?? 0; left > 0; left -= 1) visit(inner)
  }
  visit({ definition: 0, repetition: 0 })
  if (element !== footer.schema.length) throw new IcebergError('ENGINE_FAILED', 'a new file has an unknown schema')
  return changes
}

/** Whether no value of a leaf is null, and no page is large. */
function hasOnlySmallValues({ rowGroups, location }: StoredFooter, leaf: number): boolean {
  return rowGroups.every(({ chunks }) => {
    const chunk = chunks[leaf]
    const bytes = chunk && readInteger(chunk.meta.get(6), location)
    return chunk?.nulls === 0 && bytes !== undefined && bytes <= MAX_REQUIRED_CHUNK_BYTES
  })
}

function fieldsById(fields: readonly NestedField[]): ReadonlyMap<number, NestedField> {
  const found = new Map<number, NestedField>()
  const add = (field: NestedField): void => {
    found.set(field.id, field)
    if (isNested(field.type)) for (const child of childFields(field.type)) add(child)
  }
  for (const field of fields) add(field)
  return found
}
