import { referencedDataFile } from '../../scan/file-scope.ts'
import type { PartitionScopes } from '../../scan/file-scope.ts'
import { locationKey } from '../../io/location-identity.ts'
import type { ManifestEntry } from '../../manifest/manifest.ts'
import type { LiveData } from './live-data.ts'

/** The data files after a rewrite: those that remain, and those it adds. */
export interface RemainingData {
  readonly staying: LiveData
  /** Partition keys of the added files. */
  readonly addedScopes: ReadonlySet<string>
  /** Data sequence number of all added files. */
  readonly addedSequenceNumber: number
  readonly scopes: PartitionScopes
}

/**
 * Whether no remaining data file can need a delete file, so that dropping it does not bring rows back:
 * deletes that reference one data file, when that file is removed; other position deletes, when no file of their partition is
 * old enough (they reference files that existed, so added files do not count); equality deletes, when no file in their
 * scope, including added files, is older.
 */
export function isNeedless({ dataFile, sequenceNumber }: ManifestEntry, remaining: RemainingData): boolean {
  const { staying, scopes } = remaining
  const path = referencedDataFile(dataFile)
  if (path !== undefined) return !staying.referenced.has(locationKey(path))
  const scope = scopes.keyOf(dataFile)
  const oldestInScope = staying.oldestByScope.get(scope) ?? Infinity
  if (dataFile.content === 'position-deletes') return oldestInScope > sequenceNumber
  const isGlobal = scopes.isGlobal(dataFile)
  const meetsAdded = isGlobal ? remaining.addedScopes.size > 0 : remaining.addedScopes.has(scope)
  const oldestAdded = meetsAdded ? remaining.addedSequenceNumber : Infinity
  return Math.min(isGlobal ? staying.oldest : oldestInScope, oldestAdded) >= sequenceNumber
}
