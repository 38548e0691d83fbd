import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Folder of the real tables that other systems wrote; not part of this repository. */
export const fixturesRoot = process.env['ICEBERG_FIXTURES'] ?? resolve(import.meta.dirname, '../../../shared/fixtures')

/** Whether the fixtures are there; tests that need them skip otherwise. */
export const haveFixtures = existsSync(join(fixturesRoot, 'expected.json'))

if (!haveFixtures) console.warn(`Tests on real tables are skipped: no fixtures in ${fixturesRoot} (ICEBERG_FIXTURES)`)

/** The bytes of a fixture file. */
export function fixtureBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(join(fixturesRoot, path)))
}
