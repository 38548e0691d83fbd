import type { StoredObject } from '../objects/object-store.ts'
import { checkedObject } from '../objects/stored-object.ts'

const LOCATION = /^(?:abfss?|wasbs?):\/\/([a-z0-9$][a-z0-9-]{1,62})@([a-z0-9][a-z0-9.-]{2,252})(?:\/(.*))?$/is
const FORM = 'abfss://container@account.dfs.core.windows.net/path'

/** True for locations of Azure: `abfss:` and `abfs:`, or `wasbs:` and `wasb:` as Hadoop also writes them. */
export function isAzureLocation(location: string): boolean {
  return /^(abfs|wasb)s?:/i.test(location)
}

/**
 * The object of a location such as `abfss://container@account.dfs.core.windows.net/t/a.parquet`. Its bucket is
 * `container@host` with the host of the Blob service. Locations are raw text, not URLs: `%20` stays `%20`. `INVALID_ARGUMENT`
 * for other forms, and keys that {@link checkedObject} refuses.
 */
export function azureObjectOf(location: string): StoredObject {
  const [, container = '', host = '', key = ''] = LOCATION.exec(location) ?? []
  const bucket = host === '' ? undefined : `${container}@${blobHost(host)}`
  return checkedObject(location, { bucket, key, form: FORM })
}

/** The account of a location: the first label of its host. `INVALID_ARGUMENT` as {@link azureObjectOf}. */
export function accountOfLocation(location: string): { readonly account: string; readonly host: string } {
  const { bucket } = azureObjectOf(location)
  const { host } = splitBucket(bucket)
  return { account: host.split('.')[0] ?? '', host }
}

/** Container and host of a bucket. */
export function splitBucket(bucket: string): { readonly container: string; readonly host: string } {
  const [container = '', host = ''] = bucket.split('@')
  return { container, host }
}

/** An account has one host per protocol, `account.dfs.…` and `account.blob.…`, over the same objects. */
function blobHost(host: string): string {
  return host.toLowerCase().replace('.dfs.', '.blob.')
}
