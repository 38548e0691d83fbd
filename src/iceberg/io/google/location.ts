import type { StoredObject } from '../objects/object-store.ts'
import { checkedObject } from '../objects/stored-object.ts'

/** Names of buckets have no capital letters: `gs://Lake` names no bucket. */
const LOCATION = /^[gG][sS]:\/\/([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:\/(.*))?$/s

/** True for locations of Google Cloud Storage. */
export function isGoogleLocation(location: string): boolean {
  return /^gs:/i.test(location)
}

/**
 * Bucket and key of a location such as `gs://bucket/warehouse/t/data/a.parquet`. Locations are raw text, not URLs: `%20` stays
 * `%20`. `INVALID_ARGUMENT` for other schemes, invalid bucket names, and keys that {@link checkedObject} refuses.
 */
export function parseGoogleLocation(location: string): StoredObject {
  const [, bucket, key = ''] = LOCATION.exec(location) ?? []
  return checkedObject(location, { bucket, key, form: 'gs://bucket/key' })
}
