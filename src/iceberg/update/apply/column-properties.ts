import { isIcebergError } from '../../errors.ts'
import { propertyText } from '../../metadata/metadata.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import { nameMappingProperty, updateNameMapping } from '../../schema/name-mapping.ts'
import type { NameMappingChange } from '../../schema/name-mapping.ts'
import type { TableUpdate } from '../table-update.ts'

/** Table properties whose names end in the dotted name of a column. */
const columnPropertyPrefixes = [
  'write.metadata.metrics.column.',
  'write.parquet.bloom-filter-enabled.column.',
  'write.parquet.bloom-filter-fpp.column.',
  'write.parquet.stats-enabled.column.',
]

/** The old and the new name of a column with its nested fields; without `to`, it was dropped. */
export interface ColumnMove {
  readonly from: string
  readonly to?: string
}

/**
 * Updates that keep the name mapping of the table correct; none when it has no mapping. An invalid mapping is not changed,
 * as in the reference implementation: readers refuse it anyway, and columns are changed by id.
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

/** Updates that rename the properties of a renamed column, or remove those of a dropped one. */
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
