import { isIcebergError } from '../errors.ts'
import { propertyText } from '../metadata.ts'
import type { TableMetadata } from '../metadata.ts'
import { nameMappingProperty, updateNameMapping } from '../name-mapping.ts'
import type { NameMappingChange } from '../name-mapping.ts'
import type { TableUpdate } from './table-update.ts'

/** Table properties whose names end in the dotted name of a column. */
const columnPropertyPrefixes = [
  'write.metadata.metrics.column.',
  'write.parquet.bloom-filter-enabled.column.',
  'write.parquet.bloom-filter-fpp.column.',
  'write.parquet.stats-enabled.column.',
]

/** What a column (with all that is inside it) was called and is called now; no `to`: it is gone. */
export interface ColumnMove {
  readonly from: string
  readonly to?: string
}

/**
 * Updates that keep the name mapping of the table true; none when it has no mapping. A mapping that cannot be read
 * stays as it is, as in the reference implementation: readers refuse it anyway, and columns still change by id.
 */
export function nameMappingUpdates(metadata: TableMetadata, change: NameMappingChange): TableUpdate[] {
  const before = propertyText(metadata, nameMappingProperty)
  if (before === undefined) return []
  const after = updateIfReadable(before, change)
  return after === before ? [] : [{ action: 'set-properties', updates: { [nameMappingProperty]: after } }]
}

function updateIfReadable(mapping: string, change: NameMappingChange): string {
  try {
    return updateNameMapping(mapping, change)
  } catch (error) {
    if (isIcebergError(error, 'INVALID_METADATA')) return mapping
    throw error
  }
}

/** Updates that let the properties of single columns follow a rename, or go with a dropped column. */
export function columnPropertyUpdates(metadata: TableMetadata, move: ColumnMove): TableUpdate[] {
  const removals: string[] = []
  const moved: [string, string][] = []
  for (const [name, value] of Object.entries(metadata.properties)) {
    const prefix = columnPropertyPrefixes.find((candidate) => name.startsWith(candidate))
    if (prefix === undefined) continue
    const column = name.slice(prefix.length)
    if (column !== move.from && !column.startsWith(`${move.from}.`)) continue
    removals.push(name)
    if (move.to !== undefined) moved.push([prefix + move.to + column.slice(move.from.length), value])
  }
  return [
    ...(removals.length === 0 ? [] : [{ action: 'remove-properties', removals } as const]),
    ...(moved.length === 0 ? [] : [{ action: 'set-properties', updates: Object.fromEntries(moved) } as const]),
  ]
}
