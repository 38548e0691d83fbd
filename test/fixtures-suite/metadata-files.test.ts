import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isIcebergError } from '../../src/iceberg/errors.ts'
import { parseJson, stringifyJson } from '../../src/iceberg/json/lossless-json.ts'
import { parseTableMetadata, serializeTableMetadata } from '../../src/iceberg/metadata/metadata.ts'
import { FIXTURES, fixturesAvailable } from './fixture-tables.ts'

const available = fixturesAvailable('table metadata that other systems wrote')

/** Metadata that other implementations must refuse too, with the code and the expected part of the message. */
const MUST_FAIL: Readonly<Record<string, readonly [code: string, names: RegExp]>> = {
  'apache-iceberg/TableMetadataUnsupportedVersion.json': ['UNSUPPORTED', /version/i], // 4
  'TableMetadataV2CurrentSchemaNotFound.json': ['INVALID_METADATA', /schema/i],
  'TableMetadataV2MissingSortOrder.json': ['INVALID_METADATA', /sort/i],
  'TableMetadataV2MissingPartitionSpecs.json': ['INVALID_METADATA', /partition/i],
  'TableMetadataV2MissingSchemas.json': ['INVALID_METADATA', /schema/i],
  'TableMetadataV2MissingLastPartitionId.json': ['INVALID_METADATA', /last-partition-id/i],
  'TableMetadataV1MissingSchemaType.json': ['INVALID_METADATA', /type|struct/i],
  'TableMetadataV1NoValidSchema.json': ['INVALID_METADATA', /schema/i],
  'apache-iceberg-rust/table_metadata/TableMetadataUnsupportedVersion.json': ['INVALID_METADATA', /schema/i], // 3 now
}

const files = available
  ? ['apache-iceberg', 'apache-iceberg-rust', 'apache-iceberg-rust/table_metadata'].flatMap((folder) =>
      readdirSync(join(FIXTURES, folder))
        .filter((name) => /TableMetadata.*\.json$|table_metadata.*\.json$/.test(name))
        .map((name) => [join(folder, name), name] as const),
    )
  : []

describe.skipIf(!available)('table metadata that other systems wrote', () => {
  const wrong = files.filter(([path, name]) => mustFail(path, name))
  const right = files.filter(([path, name]) => !mustFail(path, name))

  it('finds both kinds', () => {
    expect(wrong.length).toBeGreaterThanOrEqual(10)
    expect(right.length).toBeGreaterThanOrEqual(10)
  })

  it.each(wrong)('%s is refused', (path, name) => {
    const [code, names] = mustFail(path, name) ?? ['', /^/]
    const outcome = attempt(() => parseTableMetadata(readFileSync(join(FIXTURES, path))))
    if (!isIcebergError(outcome)) throw new Error(`not refused: ${String(outcome)}`)
    expect(outcome.code).toBe(code)
    expect(outcome.message).toMatch(names)
  })

  it.each(right)('%s is unchanged after reading and writing', (path) => {
    const bytes = readFileSync(join(FIXTURES, path))
    const metadata = parseTableMetadata(bytes)
    const written = serializeTableMetadata(metadata)
    expect(stringifyJson(parseJson(written))).toBe(stringifyJson(parseJson(bytes)))
    expect(parseTableMetadata(written)).toEqual(metadata)
  })

  it('detects that a table is encrypted', () => {
    const path = join(FIXTURES, 'apache-iceberg-rust/table_metadata/TableMetadataV3ValidEncryption.json')
    expect(parseTableMetadata(readFileSync(path)).encrypted).toBe(true)
  })
})

function mustFail(path: string, name: string): readonly [code: string, names: RegExp] | undefined {
  return MUST_FAIL[path] ?? MUST_FAIL[name]
}

function attempt(action: () => unknown): unknown {
  try {
    return action()
  } catch (error) {
    return error
  }
}
