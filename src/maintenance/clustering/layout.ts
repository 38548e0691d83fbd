import { type Curve, MAX_CURVE_COLUMNS } from '../../domain/tables/strategies.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { SortField, SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import { fieldById, fieldChain, fieldPath, findField } from '../../iceberg/schema/schema.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { isNested } from '../../iceberg/schema/types.ts'
import type { PrimitiveType } from '../../iceberg/schema/types.ts'

/** A curve and the names of its columns, which need not exist. */
export interface NamedClustering {
  readonly curve: Curve
  readonly columns: readonly string[]
}

/** A column by which rows are laid out. */
export interface LayoutColumn {
  readonly id: number
  readonly name: string
  readonly type: PrimitiveType
}

/** How rows are laid out over files: the columns whose bounds should overlap little. */
export interface Layout {
  readonly kind: 'sort' | Curve
  readonly columns: readonly LayoutColumn[]
}

/** Names the curve and the columns that a table is clustered by (docs/table-properties.md). */
export const CLUSTER_BY_PROPERTY = 'lockhouse.cluster-by'

const CURVE_TEXT = /^\s*(zorder|hilbert)\s*\((.*)\)\s*$/is
const NAME = /\s*(?:`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([A-Za-z_][\w.]*))\s*(,|$)/y
/** Types without an order that readers agree on. */
const UNORDERED: ReadonlySet<string> = new Set(['variant', 'geometry', 'geography', 'unknown'])

/** Reads the property {@link CLUSTER_BY_PROPERTY}; undefined without it. `INVALID_METADATA` when its text cannot be read. */
export function clusterByProperty(properties: Readonly<Record<string, string>>): NamedClustering | undefined {
  const text = properties[CLUSTER_BY_PROPERTY]
  if (text === undefined) return undefined
  const [, curve, names = ''] = CURVE_TEXT.exec(text) ?? []
  const columns = curve === undefined ? undefined : readNames(names)
  if (columns !== undefined) return { curve: curve?.toLowerCase() === 'zorder' ? 'zorder' : 'hilbert', columns }
  throw new IcebergError(
    'INVALID_METADATA',
    `table property ${CLUSTER_BY_PROPERTY} is "${text}"; set it to a curve and columns, such as "zorder(customer, day)" or "hilbert(x, y)"`,
  )
}

/** Finds the columns of a clustering. Throws `INVALID_ARGUMENT` and `NO_SUCH_COLUMN`, which name the column. */
export function curveLayout({ curve, columns }: NamedClustering, metadata: TableMetadata): Layout {
  if (columns.length > MAX_CURVE_COLUMNS) {
    throw invalid(`has ${columns.length} names; a curve over more than ${MAX_CURVE_COLUMNS} columns separates none`)
  }
  const schema = currentSchema(metadata)
  const found = columns.map((name) => findColumn(schema, name))
  const twice = found.find(({ id }, at) => found.findIndex((other) => other.id === id) !== at)
  if (twice !== undefined) throw invalid(`names "${twice.name}" twice`)
  return { kind: curve, columns: found }
}

/** The layout of a sort order: the columns up to the first whose transform does not keep the order. */
export function sortLayout({ fields }: SortOrder, metadata: TableMetadata): Layout {
  const schema = currentSchema(metadata)
  const columns: LayoutColumn[] = []
  for (const { sourceId, transform } of fields) {
    const field = fieldById(schema, sourceId)
    if (field === undefined || isNested(field.type) || !keepsOrder(transform)) break
    columns.push({ id: sourceId, name: fieldPath(schema, sourceId) ?? field.name, type: field.type })
  }
  return { kind: 'sort', columns }
}

/** The layout that a table asks for: by its property, else by its sort order; undefined without both, or when neither can be read. */
export function tableLayout(metadata: TableMetadata): Layout | undefined {
  try {
    const clustering = clusterByProperty(metadata.properties)
    if (clustering !== undefined) return curveLayout(clustering, metadata)
  } catch (error) {
    if (isIcebergError(error)) return undefined // the rest of the table can still be measured
    throw error
  }
  const own = metadata.sortOrders.find((order) => order.orderId === metadata.defaultSortOrderId)
  const layout = own === undefined ? undefined : sortLayout(own, metadata)
  return layout !== undefined && layout.columns.length > 0 ? layout : undefined
}

function keepsOrder({ kind }: SortField['transform']): boolean {
  return kind !== 'bucket' && kind !== 'void' && kind !== 'unknown'
}

function findColumn(schema: Schema, name: string): LayoutColumn {
  const field = findField(schema, name)
  if (field === undefined) throw new IcebergError('NO_SUCH_COLUMN', `columns: the table has no column "${name}"`)
  const isRepeated = fieldChain(schema, field.id).some(({ type }) => type.kind === 'list' || type.kind === 'map')
  if (isNested(field.type) || isRepeated || UNORDERED.has(field.type.kind)) {
    throw invalid(`names "${name}", whose values have no order: choose columns of primitive types outside of lists`)
  }
  return { id: field.id, name, type: field.type }
}

/** Names separated by commas; undefined when the text has anything else. */
function readNames(text: string): readonly string[] | undefined {
  const names: string[] = []
  for (NAME.lastIndex = 0; ;) {
    const match = NAME.exec(text)
    const name = match?.[1]?.replaceAll('``', '`') ?? match?.[2]?.replaceAll('""', '"') ?? match?.[3]
    if (match === null || name === undefined) return undefined
    names.push(name)
    if (match[4] === '') return names
  }
}

function invalid(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `columns ${problem}`)
}
