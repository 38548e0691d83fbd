import type { StoredObject } from '../objects/object-store.ts'

type Query = Readonly<Record<string, string | undefined>>

/** The path of an object in the JSON API; slashes of the key are escaped. */
export function objectPath({ bucket, key }: StoredObject, query: Query = {}): string {
  return `${bucketPath(bucket)}/o/${encodeURIComponent(key)}${text(query)}`
}

/** The path that lists the objects of a bucket. */
export function listPath(bucket: string, query: Query): string {
  return `${bucketPath(bucket)}/o${text(query)}`
}

/** The path that creates an object. */
export function uploadPath({ bucket, key }: StoredObject, query: Query): string {
  return `/upload${bucketPath(bucket)}/o${text({ ...query, name: key })}`
}

function bucketPath(bucket: string): string {
  return `/storage/v1/b/${encodeURIComponent(bucket)}`
}

function text(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
