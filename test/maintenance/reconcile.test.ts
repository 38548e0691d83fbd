import { describe, expect, it } from 'vitest'
import type { OperationCleanup } from '../../src/maintenance/operation-hooks.ts'
import { planFiles } from '../../src/iceberg/scan.ts'
import { serializeTableMetadata, tableMetadataFromJson } from '../../src/iceberg/metadata.ts'
import { runEvolve } from '../../src/maintenance/evolve.ts'
import { runExpiry } from '../../src/maintenance/expiry.ts'
import { reconcileOperation } from '../../src/maintenance/reconcile.ts'
import { runRewriteManifests } from '../../src/maintenance/rewrite-manifests.ts'
import { MemoryTable, TABLE } from './memory-table.ts'

const DAY_MS = 86_400_000

/** What a ledger holds when the process dies: hooks write it, and from the given moment on nothing else happens. */
class DyingLedger {
  readonly diesAt: 'cleanup' | 'staged' | 'never'
  cleanup: OperationCleanup | undefined
  staged: string | undefined

  constructor(diesAt: 'cleanup' | 'staged' | 'never') {
    this.diesAt = diesAt
  }

  readonly hooks = {
    onCleanup: async (cleanup: OperationCleanup): Promise<void> => {
      this.cleanup = cleanup
      if (this.diesAt === 'cleanup') await forever()
    },
    onStaged: async (location: string): Promise<void> => {
      this.staged = location
      if (this.diesAt === 'staged') await forever()
    },
  }

  get record() {
    return {
      ...(this.cleanup && { cleanup: this.cleanup }),
      ...(this.staged !== undefined && { stagedMetadataLocation: this.staged }),
    }
  }
}

function forever(): Promise<never> {
  return new Promise(() => {})
}

/** Lets work run until it stands still. */
async function untilDead(ledger: DyingLedger, work: Promise<unknown>): Promise<void> {
  work.catch(() => undefined)
  const dead = () => (ledger.diesAt === 'staged' ? ledger.staged !== undefined : ledger.cleanup !== undefined)
  while (!dead()) await new Promise((resolve) => setTimeout(resolve, 1))
}

/** Brings the dead work one step further: its metadata file is there, the pointer has not moved. */
async function writeStaged(table: MemoryTable, { staged = '' }: DyingLedger): Promise<void> {
  const { metadata, metadataLocation } = await table.load()
  const log = [...metadata.metadataLog, { metadataFile: metadataLocation, timestampMs: metadata.lastUpdatedMs }]
  const json = {
    ...metadata.json,
    'metadata-log': log.map((entry) => ({ 'metadata-file': entry.metadataFile, 'timestamp-ms': entry.timestampMs })),
  }
  await table.io.write(staged, serializeTableMetadata(tableMetadataFromJson(json)))
}

async function manySmallManifests() {
  const table = await MemoryTable.create()
  for (let round = 0; round < 4; round += 1) await table.append(await table.files(1))
  return table
}

describe('an operation whose process died', () => {
  it.each(['cleanup', 'staged'] as const)('leaves nothing behind when it died at %s', async (diesAt) => {
    const table = await manySmallManifests()
    const before = await table.list()
    const ledger = new DyingLedger(diesAt)
    const input = { catalog: table.catalog, identifier: TABLE, request: {}, operationId: 'op-1', hooks: ledger.hooks }
    await untilDead(ledger, runRewriteManifests(input))
    if (diesAt === 'staged') expect((await table.list()).length).toBeGreaterThan(before.length)
    const result = await reconcileOperation({ ...input, ...ledger.record })
    expect(result).toMatchObject({ outcome: 'not-committed', failedDeletions: [] })
    expect(await table.list()).toEqual(before)
    expect(await planFiles(await table.load())).toHaveLength(4)
  })

  it('is known as committed, and loses no file, when it died right after', async () => {
    const table = await manySmallManifests()
    const ledger = new DyingLedger('never')
    const input = { catalog: table.catalog, identifier: TABLE, request: {}, operationId: 'op-1', hooks: ledger.hooks }
    const { snapshot_id } = await runRewriteManifests(input)
    await table.append(await table.files(1))
    const before = await table.list()
    const result = await reconcileOperation({ ...input, ...ledger.record })
    expect(result).toEqual({
      outcome: 'committed',
      snapshotId: BigInt(snapshot_id ?? 0),
      deletedFiles: [],
      failedDeletions: [],
    })
    expect(await table.list()).toEqual(before)
  })

  it('is known as committed by its snapshot alone, when the ledger never heard of the staged file', async () => {
    const table = await manySmallManifests()
    const input = { catalog: table.catalog, identifier: TABLE, request: {}, operationId: 'op-1' }
    await runRewriteManifests(input)
    expect(await reconcileOperation({ ...input, cleanup: { prefixes: ['op-1'] } })).toMatchObject({
      outcome: 'committed',
      deletedFiles: [],
    })
  })

  it('finishes the deletions of an expiry that had committed', async () => {
    const table = await MemoryTable.create()
    const old = await table.files(3)
    await table.append(old)
    await table.replace(old)
    const ledger = new DyingLedger('never')
    const nowMs = Date.now() + 10 * DAY_MS
    const run = { catalog: table.catalog, identifier: TABLE, request: {}, nowMs, hooks: ledger.hooks }
    const expiring = runExpiry({ ...run })
    await expiring
    // the same files again, as if the process had died before deleting them; one was used by a later commit
    for (const file of ledger.cleanup?.files ?? []) await table.io.write(file, new Uint8Array(1))
    const [reused] = old
    if (reused === undefined) throw new Error('no file')
    await table.append([reused])
    const result = await reconcileOperation({
      catalog: table.catalog,
      identifier: TABLE,
      operationId: 'op-1',
      ...ledger.record,
    })
    expect(result.outcome).toBe('committed')
    expect(result.deletedFiles).toHaveLength((ledger.cleanup?.files?.length ?? 0) - 1)
    const left = await table.list()
    expect(left).toContain(reused.filePath)
    for (const { dataFile } of await planFiles(await table.load())) expect(left).toContain(dataFile.filePath)
  })

  it('leaves nothing behind of a metadata file that it died writing', async () => {
    const table = await manySmallManifests()
    const before = await table.list()
    const ledger = new DyingLedger('staged')
    const change = { kind: 'rename_column', name: 'id', newName: 'key' } as const
    const input = { catalog: table.catalog, identifier: TABLE, operationId: 'op-1' }
    await untilDead(ledger, runEvolve({ ...input, change, hooks: ledger.hooks }))
    const staged = ledger.staged ?? ''
    const half = staged.replace(/[^/]+$/, (name) => `.tmp-${name}-0f5c`)
    const rival = staged.replace(/[^/]+$/, '.tmp-00007-b1c9.metadata.json-77aa')
    for (const location of [half, rival]) await table.io.write(location, new Uint8Array(3))
    expect(await reconcileOperation({ ...input, ...ledger.record })).toMatchObject({
      outcome: 'not-committed',
      deletedFiles: [half],
    })
    expect(await table.list()).toEqual([...before, rival].sort())
  })

  it('deletes nothing of an expiry that had not committed', async () => {
    const table = await MemoryTable.create()
    const old = await table.files(3)
    await table.append(old)
    await table.replace(old)
    const before = await table.list()
    const ledger = new DyingLedger('staged')
    const nowMs = Date.now() + 10 * DAY_MS
    await untilDead(
      ledger,
      runExpiry({ catalog: table.catalog, identifier: TABLE, request: {}, nowMs, hooks: ledger.hooks }),
    )
    await writeStaged(table, ledger)
    const result = await reconcileOperation({
      catalog: table.catalog,
      identifier: TABLE,
      operationId: 'op-1',
      ...ledger.record,
    })
    expect(result).toMatchObject({ outcome: 'not-committed', deletedFiles: [ledger.staged] })
    expect(await table.list()).toEqual(before)
  })

  it('tells a committed evolution from one that was overtaken', async () => {
    const table = await MemoryTable.create()
    const ledger = new DyingLedger('staged')
    const change = { kind: 'rename_column', name: 'id', newName: 'key' } as const
    const input = { catalog: table.catalog, identifier: TABLE, operationId: 'op-1' }
    await untilDead(ledger, runEvolve({ ...input, change, hooks: ledger.hooks }))
    await table.append(await table.files(1))
    expect(await reconcileOperation({ ...input, ...ledger.record })).toMatchObject({ outcome: 'not-committed' })
    const alive = new DyingLedger('never')
    await runEvolve({ ...input, change, hooks: alive.hooks })
    await table.append(await table.files(1))
    expect(await reconcileOperation({ ...input, ...alive.record })).toMatchObject({ outcome: 'committed' })
  })

  it('stays unknown, with every file kept, when the log was cut behind it', async () => {
    const table = await MemoryTable.create({ properties: { 'write.metadata.previous-versions-max': '2' } })
    const ledger = new DyingLedger('staged')
    const change = { kind: 'rename_column', name: 'id', newName: 'key' } as const
    const input = { catalog: table.catalog, identifier: TABLE, operationId: 'op-1' }
    await untilDead(ledger, runEvolve({ ...input, change, hooks: ledger.hooks }))
    await writeStaged(table, ledger)
    for (let round = 0; round < 4; round += 1) await table.append(await table.files(1))
    const before = await table.list()
    expect(await reconcileOperation({ ...input, ...ledger.record })).toMatchObject({
      outcome: 'unknown',
      deletedFiles: [],
    })
    expect(await table.list()).toEqual(before)
  })

  it('is settled when its table is gone', async () => {
    const table = await MemoryTable.create()
    const identifier = { namespace: ['ns'], name: 'gone' }
    expect(await reconcileOperation({ catalog: table.catalog, identifier, operationId: 'op-1' })).toMatchObject({
      outcome: 'no-such-table',
    })
  })
})
