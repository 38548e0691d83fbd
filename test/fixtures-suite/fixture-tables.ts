import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FileIO } from '../../src/iceberg/io/file-io.ts'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { PrefixFileIO } from '../../src/iceberg/io/prefix.ts'
import { parseTableMetadata } from '../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../src/iceberg/metadata/table.ts'

const DEFAULT_ROOT = fileURLToPath(new URL('../../../shared/fixtures', import.meta.url))

/** Folder of the tables that other systems wrote. */
export const FIXTURES = process.env['ICEBERG_FIXTURES'] ?? DEFAULT_ROOT

/** Whether the fixtures are present; logs when they are not. */
export function fixturesAvailable(suite: string): boolean {
  const found = existsSync(`${FIXTURES}/expected.json`)
  if (!found) process.stderr.write(`\nSKIPPED: ${suite}: no tables at ${FIXTURES}; set ICEBERG_FIXTURES\n`)
  return found
}

/** One assertion of another project's own tests: the number of rows in this snapshot of this table. */
export interface ExpectedRows {
  readonly path: string
  readonly metadata: string
  /** Snapshot id as text, or null for the current one. */
  readonly snapshot: string | null
  readonly expected_rows: number
  readonly asserted_by: string
  readonly data_files?: number
  readonly pos_delete_files?: number
  readonly dvs?: number
  readonly eq_delete_files?: number
}

/** The assertions of `expected.json`; empty without fixtures. */
export function expectedRows(): readonly ExpectedRows[] {
  const path = `${FIXTURES}/expected.json`
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as ExpectedRows[]) : []
}

/** Opens a fixture table in place, with its absolute locations mapped to the folder. */
export function openFixture(path: string, metadataFile: string): Table {
  const folder = `${FIXTURES}/${path}`
  const metadata = parseTableMetadata(readFileSync(`${folder}/metadata/${metadataFile}`))
  return {
    identifier: { namespace: ['fixtures'], name: path.slice(path.lastIndexOf('/') + 1) },
    metadataLocation: `${metadata.location}/metadata/${metadataFile}`,
    metadata,
    io: mappedIO(metadata.location, folder),
  }
}

/** Locations that a table may use for itself and its neighbours, longest first. */
function mappedIO(location: string, folder: string): FileIO {
  const bare = location.replace(/^[a-z0-9]+:\/\/[^/]*/, '').replace(/^\.\//, '')
  const forms = bare.startsWith('/')
    ? [bare, `hdfs://localhost:20500${bare}`, `s3a://impala${bare}`]
    : [bare, `./${bare}`]
  const own = [...new Set([location, ...forms])].map((form) => ({ from: `${form}/`, to: `${folder}/` }))
  const shared = ['', 'hdfs://localhost:20500'].map((authority) => ({
    from: `${authority}/test-warehouse/iceberg_test/`,
    to: `${FIXTURES}/impala/`,
  }))
  return new PrefixFileIO(new LocalFileIO(), [
    ...own,
    ...shared,
    { from: 'data/persistent/', to: `${FIXTURES}/duckdb-iceberg/` },
  ])
}
