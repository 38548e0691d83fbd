import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import { childFields } from '../../../iceberg/schema/schema.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'
import { isNested } from '../../../iceberg/schema/types.ts'

import { readFooter } from '../parquet/footer.ts'
import type { ParquetFooter } from '../parquet/footer.ts'
import type { FileField, FileShape } from '../scan/file-schema.ts'

/** How many values a leaf has, as far as footers say; both ends are included. */
export interface LeafCounts {
  /** Values including nulls, and one entry for each empty list or map. */
  readonly values: Range
  /** Values that are not null. */
  readonly present: Range
}

interface Range {
  readonly least: number
  readonly most: number
}

/** A leaf of the table's columns. */
export interface TableLeaf {
  readonly id: number
  /** Dotted path. */
  readonly path: string
  /** Whether it is inside of a list or map. */
  readonly isRepeated: boolean
}

/** A Parquet file of this machine whose leaves are counted. */
export interface CountedFile {
  readonly path: string
  /** The file in error messages. */
  readonly location: string
  /** Its columns with field ids. */
  readonly shape: FileShape
}

const NOTHING: Range = { least: 0, most: 0 }
const ANYTHING: Range = { least: 0, most: Infinity }

/** The primitives of columns, in order. */
export function tableLeaves(fields: readonly NestedField[], outer = { path: '', isRepeated: false }): TableLeaf[] {
  return fields.flatMap((field) => {
    const path = outer.path === '' ? field.name : `${outer.path}.${field.name}`
    if (!isNested(field.type)) return [{ id: field.id, path, isRepeated: outer.isRepeated }]
    return tableLeaves(childFields(field.type), { path, isRepeated: outer.isRepeated || field.type.kind !== 'struct' })
  })
}

/**
 * Counts of the leaves of columns over files, by field id, from the files' footers alone: rows are not read. A leaf without
 * statistics has 0 nulls or more; a leaf that a file lacks has none of its values unless the table has another for it.
 */
export async function footerCounts(
  files: readonly CountedFile[],
  fields: readonly NestedField[],
  metadata: TableMetadata,
): Promise<ReadonlyMap<number, LeafCounts>> {
  const totals = new Map<number, LeafCounts>()
  for (const { path, location, shape } of files) {
    const footer = await readFooter(path, location)
    const counts = new FileCounts(footer, metadata, totals)
    for (const field of fields) counts.add(field, memberOf(shape.columns, field))
  }
  return totals
}

interface Place {
  /** Whether it is inside of a list or map. */
  readonly isRepeated: boolean
  /** Whether a struct is between the leaf and the list or map that it is in. */
  readonly isInRepeatedStruct: boolean
  /** Whether rows without the column have a value of the table for it. */
  readonly hasDefault: boolean
}

const TOP: Place = { isRepeated: false, isInRepeatedStruct: false, hasDefault: false }

/** Adds the counts of one file. */
class FileCounts {
  readonly #footer: ParquetFooter
  readonly #metadata: TableMetadata
  readonly #totals: Map<number, LeafCounts>

  constructor(footer: ParquetFooter, metadata: TableMetadata, totals: Map<number, LeafCounts>) {
    this.#footer = footer
    this.#metadata = metadata
    this.#totals = totals
  }

  /** Adds the leaves of a field of the table. */
  add(target: NestedField, found: FileField | undefined, place: Place = TOP): void {
    if (found === undefined) this.#addMissing(target, place)
    else if (!isNested(target.type)) {
      if (found.type.kind === 'primitive') this.#put(target.id, this.#chunkCounts(found.type.leaf, place))
    } else {
      const inner = innerPlace(target, place)
      for (const child of childFields(target.type)) this.add(child, childOf(found, child), inner)
    }
  }

  #addMissing(target: NestedField, place: Place): void {
    const hasDefault = place.hasDefault || this.#hasDefault(target)
    if (isNested(target.type)) {
      // a missing list is NULL in each row, so its place is that of the column around it
      for (const child of childFields(target.type)) this.#addMissing(child, { ...place, hasDefault })
      return
    }
    const rows = this.#footer.rowCount
    const values = place.isRepeated ? ANYTHING : { least: rows, most: rows }
    this.#put(target.id, { values, present: hasDefault ? { least: 0, most: values.most } : NOTHING })
  }

  #hasDefault({ id, initialDefault }: NestedField): boolean {
    if (initialDefault !== undefined && initialDefault !== null) return true
    return this.#metadata.partitionSpecs.some(({ fields }) => fields.some(({ sourceId }) => sourceId === id))
  }

  #chunkCounts(leaf: number, { isInRepeatedStruct }: Place): LeafCounts {
    const isDoubled = isInRepeatedStruct && this.#footer.writers.some((writer) => writer.startsWith('DuckDB'))
    let [values, least, most] = [0, 0, 0]
    for (const chunks of this.#footer.rowGroups) {
      const chunk = chunks[leaf]
      if (chunk === undefined) continue
      const nulls = nullRange(chunk, isDoubled)
      values += chunk.values
      least += chunk.values - nulls.most
      most += chunk.values - nulls.least
    }
    return { values: { least: values, most: values }, present: { least, most } }
  }

  #put(id: number, counts: LeafCounts): void {
    const total = this.#totals.get(id) ?? { values: NOTHING, present: NOTHING }
    this.#totals.set(id, { values: sum(total.values, counts.values), present: sum(total.present, counts.present) })
  }
}

/** DuckDB 1.5 counts a member of a NULL struct in a list or map twice, once as NULL and once for the struct. */
function nullRange(
  { values, nulls, hasBounds }: { readonly values: number; readonly nulls?: number; readonly hasBounds: boolean },
  isDoubled: boolean,
): Range {
  const possible = hasBounds ? Math.max(0, values - 1) : values
  if (nulls === undefined) return { least: 0, most: possible }
  if (isDoubled) return { least: Math.ceil(nulls / 2), most: Math.min(nulls, possible) }
  return { least: nulls, most: nulls }
}

function innerPlace({ type }: NestedField, place: Place): Place {
  if (type.kind !== 'struct') return { ...place, isRepeated: true, isInRepeatedStruct: place.isInRepeatedStruct }
  return { ...place, isInRepeatedStruct: place.isInRepeatedStruct || place.isRepeated }
}

function childOf({ type }: FileField, wanted: NestedField): FileField | undefined {
  if (type.kind === 'struct') return memberOf(type.fields, wanted)
  if (type.kind === 'list') return memberOf([type.element], wanted)
  return type.kind === 'map' ? memberOf([type.key, type.value], wanted) : undefined
}

function memberOf(fields: readonly FileField[], { id }: NestedField): FileField | undefined {
  return fields.find(({ fieldId }) => fieldId === id)
}

function sum(a: Range, b: Range): Range {
  return { least: a.least + b.least, most: a.most + b.most }
}
