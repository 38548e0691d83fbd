import type { StoredObject } from '../objects/object-store.ts'
import { checkedObject } from '../objects/stored-object.ts'

const LOCATION = /^s3[an]?:\/\/([a-z0-9][a-z0-9._-]{1,62})(?:\/(.*))?$/is

/** Whether a location names an object store of this kind: `s3:`, or `s3a:` and `s3n:` as Hadoop writes it. */
export function isS3Location(location: string): boolean {
  return /^s3[an]?:/i.test(location)
}

/**
 * Bucket and key of a location such as `s3://bucket/warehouse/t/data/a.parquet`. Locations are raw text, not URLs: `%20`
 * stays `%20`. `INVALID_ARGUMENT` for other schemes, bad bucket names, and keys that {@link checkedObject} refuses.
 */
export function s3ObjectOf(location: string): StoredObject {
  const [, bucket, key = ''] = LOCATION.exec(location) ?? []
  return checkedObject(location, { bucket, key, form: 's3://bucket/key' })
}
