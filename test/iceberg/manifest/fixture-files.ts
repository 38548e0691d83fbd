import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { readManifestList } from '../../../src/iceberg/manifest/manifest-list.ts'
import type { ManifestFile } from '../../../src/iceberg/manifest/manifest.ts'
import { parseTableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'

/** Where real tables of other systems are; not part of the repository. */
export const fixtures = process.env['ICEBERG_FIXTURES'] ?? join(import.meta.dirname, '../../../../shared/fixtures')

export const haveFixtures = existsSync(fixtures)
if (!haveFixtures) console.warn(`skipped: no tables of other systems in ${fixtures} (set ICEBERG_FIXTURES)`)

/** All files below the fixtures whose name matches. */
export function fixtureFiles(pattern: RegExp): string[] {
  if (!haveFixtures) return []
  const names = readdirSync(fixtures, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => pattern.test(name)).map((name) => join(fixtures, name))
}

export const read = (path: string): Uint8Array => new Uint8Array(readFileSync(path))

/** A manifest as a snapshot of a fixture table lists it. */
export interface FixtureManifest {
  readonly path: string
  readonly manifest: ManifestFile
  readonly metadata: TableMetadata
}

/** Every manifest that any metadata file of any fixture table reaches, each once per table version it stands in. */
export function reachableManifests(): FixtureManifest[] {
  const found = new Map<string, FixtureManifest>()
  for (const path of fixtureFiles(/\/metadata\/.*metadata\.json$/)) {
    const metadata = tryParse(path)
    const lists = metadata?.snapshots.flatMap((snapshot) => snapshot.manifestList ?? []) ?? []
    for (const list of lists) {
      const listPath = join(dirname(path), basename(list))
      if (metadata === undefined || !existsSync(listPath)) continue
      for (const manifest of readManifestList(read(listPath))) {
        const manifestPath = join(dirname(path), basename(manifest.manifestPath))
        if (existsSync(manifestPath)) found.set(manifestPath, { path: manifestPath, manifest, metadata })
      }
    }
  }
  return [...found.values()]
}

function tryParse(path: string): TableMetadata | undefined {
  try {
    return parseTableMetadata(read(path))
  } catch {
    return undefined
  }
}
