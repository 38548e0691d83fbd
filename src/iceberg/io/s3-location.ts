import { IcebergError } from '../errors.ts'

/** An object, or the prefix of many, in a bucket. */
export interface S3Object {
  readonly bucket: string
  readonly key: string
}

const LOCATION = /^s3[an]?:\/\/([a-z0-9][a-z0-9._-]{1,62})(?:\/(.*))?$/is

/** Whether a location names an object store of this kind: `s3:`, or `s3a:` and `s3n:` as Hadoop writes it. */
export function isS3Location(location: string): boolean {
  return /^s3[an]?:/i.test(location)
}

/**
 * Bucket and key of a location such as `s3://bucket/warehouse/t/data/a.parquet`. Locations are raw text, not URLs: `%20`
 * stays `%20`. `INVALID_ARGUMENT` for other schemes, bad bucket names, NUL characters, and `.` or `..` as a segment of the
 * key, which servers and proxies may resolve.
 */
export function s3ObjectOf(location: string): S3Object {
  const [, bucket, key = ''] = LOCATION.exec(location) ?? []
  if (bucket === undefined || key.includes('\0') || key.split('/').some((part) => part === '.' || part === '..')) {
    throw new IcebergError('INVALID_ARGUMENT', `"${location}" is not the location of an object: use s3://bucket/key.`)
  }
  return { bucket, key }
}

/** Whether an object is `root` or lies below it. */
export function isBelow({ bucket, key }: S3Object, root: S3Object): boolean {
  if (bucket !== root.bucket) return false
  const prefix = root.key.replace(/\/+$/, '')
  return prefix === '' || key === prefix || key.startsWith(`${prefix}/`)
}
