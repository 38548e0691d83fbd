import { isGoogleLocation, parseGoogleLocation } from '../../../iceberg/io/google/location.ts'
import type { StoredObject } from '../../../iceberg/io/objects/object-store.ts'
import { isBelow } from '../../../iceberg/io/objects/stored-object.ts'
import { isS3Location, s3ObjectOf } from '../../../iceberg/io/s3/location.ts'

/** A kind of store that a catalog may lend credentials for. */
export type VendedKind = 's3' | 'gs'

interface VendedStore {
  readonly serves: (location: string) => boolean
  readonly parse: (location: string) => StoredObject
  /** Prefixes that stand for every location of this store. */
  readonly everything: RegExp
}

const STORES: Readonly<Record<VendedKind, VendedStore>> = {
  s3: { serves: isS3Location, parse: s3ObjectOf, everything: /^(s3[an]?(:(\/\/)?)?)?$/i },
  gs: { serves: isGoogleLocation, parse: parseGoogleLocation, everything: /^(gs(:(\/\/)?)?)?$/i },
}

/** The kind of store that has a location; undefined if credentials for it cannot be lent. */
export function vendedKind(location: string): VendedKind | undefined {
  if (STORES.s3.serves(location)) return 's3'
  return STORES.gs.serves(location) ? 'gs' : undefined
}

/** True if a location is one of this kind, and is `folder` or lies below it. `INVALID_ARGUMENT` if one is malformed. */
export function isInFolder(kind: VendedKind, location: string, folder: string): boolean {
  const { serves, parse } = STORES[kind]
  return serves(location) && serves(folder) && isBelow(parse(location), parse(folder))
}

/** True if credentials with this prefix serve all locations of this kind. */
export function isEverything(kind: VendedKind, prefix: string): boolean {
  return STORES[kind].everything.test(prefix)
}

/** The location of the bucket of a location. */
export function bucketLocation(kind: VendedKind, location: string): string {
  return `${kind}://${STORES[kind].parse(location).bucket}`
}
