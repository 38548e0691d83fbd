import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { createMemoryCatalog } from '../../src/catalog/memory/catalog.ts'
import { createDuckDbEngine } from '../../src/engines/duckdb/duckdb-engine.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { isIcebergError } from '../../src/iceberg/errors.ts'
import { currentSchema } from '../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../src/iceberg/scan/scan.ts'
import type { TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import { runCompaction } from '../../src/maintenance/compaction/compact.ts'
import { runEvolve } from '../../src/maintenance/evolve.ts'
import { runExpiry } from '../../src/maintenance/expiry/expire.ts'
import { runRewriteManifests } from '../../src/maintenance/manifests/rewrite-manifests.ts'
import { describeCompactionPlan } from '../../src/maintenance/compaction/result.ts'
import { planTableCompaction } from '../../src/maintenance/compaction/compact.ts'
import { previewTableCompaction } from '../../src/maintenance/inspection/preview-compaction.ts'
import { createTotalsSource } from '../../src/maintenance/inspection/totals/totals-source.ts'
import { createTableInspector } from '../../src/maintenance/inspection/table-inspector.ts'
import { type ExpectedRows, expectedRows, fixturesAvailable, openFixture } from '../fixtures-suite/fixture-tables.ts'
import { OverlayIO } from './overlay-io.ts'
import { shares } from '../support/effort.ts'

const available = fixturesAvailable('maintenance of tables that other systems wrote')

/** Tables that cannot be rewritten, each with the reason; they must stay unchanged. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'duckdb-iceberg/legacy_bare_deletion_vector/warehouse/default/legacy_bare_deletion_vector': /bare deletion vector/,
  'impala/iceberg_v3/trino_variant': /variant/i,
}

type FixtureTable = Pick<ExpectedRows, 'path' | 'metadata'>

const isLarge = ({ path }: FixtureTable): boolean => path.includes('lineitem')

const TABLES: readonly FixtureTable[] = [
  ...new Map(expectedRows().map(({ path, metadata }) => [`${path}/${metadata}`, { path, metadata }])).values(),
]

describe.skipIf(!available)('maintenance of tables that other systems wrote', () => {
  let engine: Engine
  let scratch: string

  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'lockhouse-fixtures-'))
    engine = await createDuckDbEngine({ scratchDir: scratch })
  })
  afterAll(async () => {
    await engine.close()
    rmSync(scratch, { recursive: true, force: true })
  })

  const name = '$path $metadata: the same rows after every operation'
  for (const [tables, options] of shares(
    TABLES.toSorted((a, b) => Number(isLarge(a)) - Number(isLarge(b))),
    12,
  )) {
    it.each(tables)(name, options, keepsRows)
  }

  async function keepsRows({ path, metadata }: FixtureTable): Promise<void> {
    const { catalog, identifier, io } = await register(path, metadata)
    const refused = REFUSED[path]
    const target = { catalog, identifier }
    if (refused !== undefined) {
      const compaction = runCompaction({ ...target, engine, request: { rewrite_all: true }, operationId: 'op-1' })
      await expect(compaction).rejects.toSatisfy((error) => isIcebergError(error) && refused.test(error.message))
      expect([await filesWritten(io), [...io.hidden].filter((file) => !file.includes('op-1'))]).toEqual([[], []])
      return
    }
    const before = await readAll(catalog, identifier)
    await expectHealth(catalog, identifier)
    await expectPreview(catalog, identifier)
    const details = await runCompaction({ ...target, engine, request: { rewrite_all: true }, operationId: 'op-1' })
    expect(details.rows_written).toBe(before.length)
    expect(await readAll(catalog, identifier), 'after compaction').toEqual(before)
    const tasks = await planFiles(await catalog.loadTable(identifier))
    expect(tasks.flatMap(({ deletes }) => deletes)).toEqual([])
    await expectHealth(catalog, identifier)
    await expectPreview(catalog, identifier)
    await runRewriteManifests({ ...target, request: {}, operationId: 'op-2' })
    expect(await readAll(catalog, identifier), 'after manifests').toEqual(before)
    const nowMs = Date.now() + 10 * 86_400_000
    const expired = await runExpiry({ ...target, request: {}, nowMs })
    expect(expired.failed_deletions_count).toBe(0)
    expect(await readAll(catalog, identifier), 'after expiry').toEqual(before)
    await runEvolve({ ...target, change: { kind: 'add_column', name: 'added by us', type: 'string' } })
    const evolved = before.map((row) => JSON.stringify({ ...JSON.parse(row), 'added by us': null })).toSorted()
    expect(await readAll(catalog, identifier), 'after a new column').toEqual(evolved)
  }

  async function readAll(catalog: Catalog, identifier: TableIdentifier): Promise<string[]> {
    const table = await catalog.loadTable(identifier)
    const { metadata, io } = table
    const inputs = await planFiles(table)
    const rows: string[] = []
    for await (const row of engine.readRows({ io, metadata, schema: currentSchema(metadata), inputs })) {
      rows.push(JSON.stringify(row))
    }
    return rows.toSorted()
  }
})

async function register(path: string, metadataFile: string) {
  const fixture = openFixture(path, metadataFile)
  const io = new OverlayIO(fixture.io)
  const catalog = createMemoryCatalog({ name: 'test', warehouse: '/nowhere', io })
  await catalog.createNamespace(['fixtures'])
  await catalog.registerTable(fixture.identifier, fixture.metadataLocation)
  return { catalog, identifier: fixture.identifier, io }
}

async function filesWritten(io: OverlayIO): Promise<string[]> {
  const files: string[] = []
  for await (const { location } of io.upper.list('')) files.push(location)
  return files
}

/** Compares health, counted from manifests without building entries, with a scan plan. */
async function expectHealth(catalog: Catalog, identifier: TableIdentifier): Promise<void> {
  const table = await catalog.loadTable(identifier)
  const { facts, score } = await createTableInspector().health(table, Date.now())
  const files = (await planFiles(table)).map(({ dataFile }) => dataFile)
  expect(facts.dataFiles).toEqual({
    count: files.length,
    bytes: files.reduce((total, file) => total + file.fileSizeInBytes, 0),
    records: files.reduce((total, file) => total + file.recordCount, 0),
  })
  expect(facts.histogram.reduce((total, range) => total + range.files, 0)).toBe(files.length)
  expect(facts.snapshotCount).toBe(table.metadata.snapshots.length)
  expect(score).toBeGreaterThan(50)
}

/** Compares a preview, which reads only sizes and partitions where it can, with the plan that would run. */
async function expectPreview(catalog: Catalog, identifier: TableIdentifier): Promise<void> {
  const table = await catalog.loadTable(identifier)
  for (const request of [{}, { rewrite_all: true, partial_progress: true }]) {
    const code = ({ code: found }: { code: string }) => found
    const planned = await planTableCompaction(table, request).then(describeCompactionPlan, code)
    const preview = previewTableCompaction(table, request, createTotalsSource())
    expect(await preview.then(describeCompactionPlan, code)).toEqual(planned)
  }
}
