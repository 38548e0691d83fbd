import { IcebergError } from '../iceberg/errors.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'

/** Throws `GC_DISABLED` when the table's files may belong to another table (`gc.enabled=false`). */
export function requireGcEnabled(metadata: TableMetadata, action: string): void {
  if (metadata.properties['gc.enabled']?.toLowerCase() !== 'false') return
  throw new IcebergError(
    'GC_DISABLED',
    `cannot ${action}: the table has gc.enabled=false, so its files may belong to another table`,
  )
}
