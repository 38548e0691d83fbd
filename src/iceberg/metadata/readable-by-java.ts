import { IcebergError, isIcebergError } from '../errors.ts'
import type { PartitionSpec } from '../partitioning/partitioning.ts'
import type { SortOrder } from '../partitioning/sort-order.ts'
import { type Transform, transformResultType } from '../partitioning/transforms.ts'
import { fieldById, fieldChain, findField, type Schema, walkFields } from '../schema/schema.ts'
import { isNested, type Type } from '../schema/types.ts'
import type { TableMetadata } from './metadata.ts'

type Layout = Pick<
  TableMetadata,
  'schemas' | 'currentSchemaId' | 'partitionSpecs' | 'defaultSpecId' | 'sortOrders' | 'defaultSortOrderId'
>

/**
 * Refuses (`INVALID_ARGUMENT`) a layout that Iceberg's Java library, and with it Spark, Flink and Trino, does not load:
 * `Schema`, `PartitionSpec.Builder` and `SortOrder.Builder` of iceberg-api 1.11. `base`: the table before a change, whose
 * own problems are not refused again, so that such a table can be maintained and repaired.
 */
export function checkReadableByJava(next: Layout, base?: Layout): void {
  if (base !== undefined && isSameLayout(next, base)) return
  let known: Set<string> | undefined
  for (const problem of problemsOf(next)) {
    known ??= new Set(base === undefined ? [] : problemsOf(base))
    if (known.has(problem)) continue
    throw new IcebergError('INVALID_ARGUMENT', `${problem}. Other engines could not load the table`)
  }
}

/** Entries that a change keeps are the same objects. */
function isSameLayout(a: Layout, b: Layout): boolean {
  const isSame = (ours: readonly unknown[], theirs: readonly unknown[]): boolean =>
    ours.length === theirs.length && ours.every((entry, at) => entry === theirs[at])
  return (
    a.currentSchemaId === b.currentSchemaId &&
    a.defaultSpecId === b.defaultSpecId &&
    a.defaultSortOrderId === b.defaultSortOrderId &&
    isSame(a.schemas, b.schemas) &&
    isSame(a.partitionSpecs, b.partitionSpecs) &&
    isSame(a.sortOrders, b.sortOrders)
  )
}

function* problemsOf(layout: Layout): Iterable<string> {
  for (const schema of layout.schemas) yield* ambiguousNames(schema)
  const current = layout.schemas.find(({ schemaId }) => schemaId === layout.currentSchemaId)
  if (current === undefined) return
  for (const spec of layout.partitionSpecs) {
    yield* wrongFields(spec, current)
    if (spec.specId === layout.defaultSpecId) yield* wrongSources(spec, current)
  }
  for (const order of layout.sortOrders) {
    yield* wrongOrderId(order)
    if (order.orderId === layout.defaultSortOrderId) yield* wrongSortFields(order, current)
  }
}

/** A column `a.b` beside a field `b` of a struct `a`, `m.key` beside a map `m`, `l.element` beside a list `l`. */
function* ambiguousNames(schema: Schema): Iterable<string> {
  const ids = new Map<string, number>()
  for (const { field, path } of walkFields(schema)) {
    const other = ids.get(path)
    if (other !== undefined) yield `two columns have the full name "${path}": ${other} and ${field.id}`
    ids.set(path, field.id)
  }
}

/**
 * In all specs, because data files of older ones may still be in the table. A field whose column was dropped may have the name
 * of another column: Java compares names only while the column is there.
 */
function* wrongFields(spec: PartitionSpec, schema: Schema): Iterable<string> {
  for (const { name, sourceId, transform } of spec.fields) {
    const what = `partition field "${name}" of spec ${spec.specId}`
    if (name === '') yield `a partition field of spec ${spec.specId} has no name`
    const column = findField(schema, name)
    const source = fieldById(schema, sourceId)
    if (source !== undefined && column !== undefined && column.id !== sourceId) {
      yield `column ${column.id} has the name of the ${what}, which is made of column ${sourceId}`
    }
    yield* wrongTransform(what, transform, source?.type)
  }
}

function* wrongTransform(what: string, transform: Transform, type: Type | undefined): Iterable<string> {
  if (type === undefined || isNested(type)) return
  try {
    transformResultType(transform, type)
  } catch (error) {
    if (!isIcebergError(error, 'INVALID_ARGUMENT')) throw error
    yield `${what}: ${error.message}`
  }
}

/** Only in the default spec. */
function* wrongSources(spec: PartitionSpec, schema: Schema): Iterable<string> {
  for (const { name, sourceId, transform } of spec.fields) {
    if (transform.kind === 'void') continue
    const what = `partition field "${name}" of the default spec`
    const chain = fieldChain(schema, sourceId)
    if (chain.length === 0) yield `${what} needs the column with id ${sourceId}`
    if (chain.slice(0, -1).some(({ type }) => type.kind !== 'struct'))
      yield `${what} is made of values in a list or map`
  }
}

/** Only in the default order. */
function* wrongSortFields(order: SortOrder, schema: Schema): Iterable<string> {
  for (const { sourceId, transform } of order.fields) {
    const type = fieldById(schema, sourceId)?.type
    if (type === undefined) yield `the default sort order needs the column with id ${sourceId}`
    yield* wrongTransform('the default sort order', transform, type)
  }
}

function* wrongOrderId({ orderId, fields }: SortOrder): Iterable<string> {
  if (orderId === 0 && fields.length > 0) yield 'sort order 0 has fields, but 0 means unsorted'
  if (orderId !== 0 && fields.length === 0) yield `sort order ${orderId} has no fields, but only order 0 is unsorted`
}
