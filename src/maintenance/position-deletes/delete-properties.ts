import { IcebergError } from '../../iceberg/errors.ts'
import { propertyCount } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'

const TARGET_PROPERTY = 'write.delete.target-file-size-bytes'
const DEFAULT_TARGET_BYTES = 67_108_864
const MIN_TARGET_BYTES = 100

/** The table's target size of delete files, bytes. `INVALID_METADATA` for a property that is too small to be used. */
export function deleteFileTargetBytes(metadata: TableMetadata): number {
  const target = propertyCount(metadata, TARGET_PROPERTY, DEFAULT_TARGET_BYTES)
  // smaller ones leave no room between the sizes that are derived from it
  if (target >= MIN_TARGET_BYTES) return target
  throw new IcebergError('INVALID_METADATA', `the table property ${TARGET_PROPERTY} is ${target}: set a size in bytes`)
}

/** The table property `write.delete.granularity`; undefined when it is not set. */
export function deleteGranularity({ properties }: TableMetadata): 'file' | 'partition' | undefined {
  const value = properties['write.delete.granularity']?.toLowerCase()
  return value === 'file' || value === 'partition' ? value : undefined
}
