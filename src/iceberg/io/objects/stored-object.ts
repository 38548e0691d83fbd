import { IcebergError } from '../../errors.ts'
import type { StoredObject } from './object-store.ts'

/** True if an object is `root` or lies below it. */
export function isBelow({ bucket, key }: StoredObject, root: StoredObject): boolean {
  if (bucket !== root.bucket) return false
  const prefix = root.key.replace(/\/+$/, '')
  return prefix === '' || key === prefix || key.startsWith(`${prefix}/`)
}

/**
 * Refuses keys that servers or proxies may resolve to another one: NUL characters, halves of a UTF-16 pair, and `.` or `..` as a segment. An absent
 * bucket means that the location does not have the `form`. `INVALID_ARGUMENT`.
 */
export function checkedObject(
  location: string,
  { bucket, key, form }: { readonly bucket: string | undefined; readonly key: string; readonly form: string },
): StoredObject {
  if (
    bucket === undefined ||
    key.includes('\0') ||
    !key.isWellFormed() ||
    key.split('/').some((part) => part === '.' || part === '..')
  ) {
    throw new IcebergError('INVALID_ARGUMENT', `"${location}" is not the location of an object: use ${form}.`)
  }
  return { bucket, key }
}
