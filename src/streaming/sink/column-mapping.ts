import type { Schema } from '../../iceberg/schema/schema.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import { canPromote } from '../../iceberg/schema/type-json.ts'
import { isNested } from '../../iceberg/schema/types.ts'
import type { NestedField, Type } from '../../iceberg/schema/types.ts'

/** A column of the source and the column of the sink that it fills, by field id, at any depth. */
export type ColumnPair = readonly [sourceId: number, sinkId: number]

/** How the columns of a source map to the columns of a sink. */
export interface ColumnMapping {
  /** Per top-level column of the sink: what to read of the source, with the source's field ids and the sink's types. */
  readonly reads: readonly NestedField[]
  /** The top-level columns of the sink, in the order of {@link reads}. */
  readonly sinkIds: readonly number[]
  readonly pairs: readonly ColumnPair[]
  /** Source columns that the sink does not have, by path. */
  readonly missing: readonly SourceColumn[]
  /** Readable reasons why rows cannot be written into the sink. */
  readonly problems: readonly string[]
}

/** A column of a source by its dotted path; `after` is the path of the previous column in its struct. */
export interface SourceColumn {
  readonly path: string
  readonly field: NestedField
}

/** Field ids that no file contains: reading them gives NULL or a default. */
const FIRST_ABSENT_ID = 2_147_400_000

/**
 * Matches the columns of two tables. Known pairs stay matched by field id, even after a rename; all others are matched
 * by name, first with exact case, then case-insensitively when only one column on either side has that name. Columns of
 * the sink without a match get their `write-default`, or NULL.
 *
 * Types may be the same or promoted (Iceberg spec, "Schema Evolution": int to long, float to double, decimal to more
 * digits, date to timestamp); a required column of the sink needs a required one of the source.
 */
export function mapColumns(source: Schema, sink: Schema, known: readonly ColumnPair[] = []): ColumnMapping {
  const matcher = new Matcher(known)
  const reads = matcher.struct({ source: source.fields, sink: sink.fields, path: '' })
  return {
    reads,
    sinkIds: sink.fields.map(({ id }) => id),
    pairs: matcher.pairs,
    missing: matcher.missing,
    problems: matcher.problems,
  }
}

interface StructPair {
  readonly source: readonly NestedField[]
  readonly sink: readonly NestedField[]
  /** Ends with a dot; empty at the top level. */
  readonly path: string
}

class Matcher {
  readonly pairs: ColumnPair[] = []
  readonly missing: SourceColumn[] = []
  readonly problems: string[] = []
  readonly #sourceOf: ReadonlyMap<number, number>
  #absentIds = FIRST_ABSENT_ID

  constructor(known: readonly ColumnPair[]) {
    this.#sourceOf = new Map(known.map(([sourceId, sinkId]) => [sinkId, sourceId]))
  }

  struct({ source, sink, path }: StructPair): NestedField[] {
    const partners = this.#partners(source, sink)
    const used = new Set(partners.values())
    for (const field of source) if (!used.has(field)) this.missing.push({ path: `${path}${field.name}`, field })
    return sink.map((target) => {
      const partner = partners.get(target)
      return partner === undefined ? this.#absent(target, path) : this.#read(partner, target, path)
    })
  }

  #partners(source: readonly NestedField[], sink: readonly NestedField[]): ReadonlyMap<NestedField, NestedField> {
    const partners = new Map<NestedField, NestedField>()
    const free = new Set(source)
    const pair = (target: NestedField, found: NestedField | undefined): void => {
      if (found === undefined || !free.delete(found)) return
      partners.set(target, found)
    }
    for (const target of sink) {
      const id = this.#sourceOf.get(target.id)
      pair(target, id === undefined ? undefined : source.find((field) => field.id === id))
    }
    const open = (): NestedField[] => sink.filter((target) => !partners.has(target))
    for (const target of open())
      pair(
        target,
        [...free].find(({ name }) => name === target.name),
      )
    for (const target of open()) {
      const alike = [...free].filter((field) => isAlike(field, target))
      const rivals = open().filter((field) => isAlike(field, target))
      if (alike.length === 1 && rivals.length === 1) pair(target, alike[0])
    }
    return partners
  }

  #absent(target: NestedField, path: string): NestedField {
    this.#absentIds += 1
    const { writeDefault } = target
    if (target.required && (writeDefault === undefined || writeDefault === null)) {
      this.problems.push(`column ${path}${target.name} of the sink is required, and the source has no such column`)
    }
    // the default replaces the nested value as a whole, so its inner ids do not matter
    return { id: this.#absentIds, name: target.name, required: false, type: target.type, initialDefault: writeDefault }
  }

  #read(from: NestedField, to: NestedField, path: string): NestedField {
    this.pairs.push([from.id, to.id])
    const name = `${path}${to.name}`
    if (to.required && !from.required) {
      this.problems.push(`column ${name} of the sink is required, but the source column is optional`)
    }
    const { initialDefault } = from
    return {
      id: from.id,
      name: to.name,
      required: from.required,
      type: this.#type(from.type, to.type, name),
      ...(initialDefault === undefined ? {} : { initialDefault: promotedDefault(initialDefault, from.type, to.type) }),
    }
  }

  /** The sink's type with the source's field ids. */
  #type(from: Type, to: Type, path: string): Type {
    if (from.kind === 'struct' && to.kind === 'struct') {
      return { kind: 'struct', fields: this.struct({ source: from.fields, sink: to.fields, path: `${path}.` }) }
    }
    if (from.kind === 'list' && to.kind === 'list') {
      this.pairs.push([from.elementId, to.elementId])
      this.#requireValues(`${path}.element`, from.elementRequired, to.elementRequired)
      const element = this.#type(from.element, to.element, `${path}.element`)
      return { ...from, element }
    }
    if (from.kind === 'map' && to.kind === 'map') {
      this.pairs.push([from.keyId, to.keyId], [from.valueId, to.valueId])
      this.#requireValues(`${path}.value`, from.valueRequired, to.valueRequired)
      const key = this.#type(from.key, to.key, `${path}.key`)
      return { ...from, key, value: this.#type(from.value, to.value, `${path}.value`) }
    }
    if (!isNested(from) && !isNested(to) && canPromote(from, to, 3)) return to
    this.problems.push(`column ${path} is ${formatType(from)} in the source and ${formatType(to)} in the sink`)
    return to
  }

  #requireValues(path: string, from: boolean, to: boolean): void {
    if (to && !from) this.problems.push(`column ${path} of the sink is required, but the source column is optional`)
  }
}

/** A default of the source as a value of the sink's type: only a date changes its text form when it becomes a timestamp. */
function promotedDefault(value: unknown, from: Type, to: Type): unknown {
  return from.kind === 'date' && to.kind !== 'date' && typeof value === 'string' ? `${value}T00:00:00` : value
}

/** Whether two column names differ at most in case. */
function isAlike(a: NestedField, b: NestedField): boolean {
  return a.name.toLowerCase() === b.name.toLowerCase()
}
