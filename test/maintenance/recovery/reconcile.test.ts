import { describe, expect, it } from 'vitest'
import type { OperationCleanup } from '../../../src/maintenance/operation-hooks.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { runEvolve } from '../../../src/maintenance/evolve.ts'
import { runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { runRewriteManifests } from '../../../src/maintenance/manifests/rewrite-manifests.ts'
import { MemoryTable, TABLE } from '../memory-table.ts'
import type { StagedCommit } from '../../../src/iceberg/update/staged-commit.ts'
import { until } from '../../support/waiting.ts'

const DAY_MS = 86_400_000

type Moment = 'cleanup' | 'staged' | 'written' | 'never'

/** The content of a ledger when the process dies: hooks write it, and nothing happens after the given moment. */
class DyingLedger {
  readonly diesAt: Moment
  cleanup: OperationCleanup | undefined
  staged: StagedCommit | undefined

  constructor(diesAt: Moment) {
    this.diesAt = diesAt
  }

  readonly hooks = {
    onCleanup: async (cleanup: OperationCleanup): Promise<void> => {
      this.cleanup = cleanup
      if (this.diesAt === 'cleanup') await forever()
    },
    onStaged: async (staged: StagedCommit): Promise<void> => {
      this.staged = staged
      if (this.diesAt === 'staged') await forever()
    },
  }

  get location(): string | undefined {
    return this.staged?.kind === 'file' ? this.staged.location : undefined
  }

  get record() {
    return {
      ...(this.cleanup && { cleanup: this.cleanup }),
      ...(this.staged && { staged: this.staged }),
    }
  }
}

/** Memory in which a process can die right after it wrote a metadata file, before the pointer moves to it. */
class DyingIO extends MemoryFileIO {
  ledger: DyingLedger | undefined
  died = false

  override async create(location: string, bytes: Uint8Array): Promise<void> {
    await super.create(location, bytes)
    if (this.ledger?.diesAt !== 'written' || location !== this.ledger.location || this.died) return
    this.died = true
    await forever()
  }
}

function forever(): Promise<never> {
  return new Promise(() => {})
}

/** Runs work until it no longer progresses. */
async function untilDead(table: MemoryTable, ledger: DyingLedger, work: Promise<unknown>): Promise<void> {
  work.catch(() => undefined)
  const io = table.io instanceof DyingIO ? table.io : undefined
  if (io !== undefined) io.ledger = ledger
  const isDead = {
    cleanup: () => ledger.cleanup !== undefined,
    staged: () => ledger.staged !== undefined,
    written: () => io?.died === true,
    never: () => true,
  }
  await until(isDead[ledger.diesAt])
}

/** All files without the metadata file of the fence, by which a recovery makes sure that a commit can no longer happen. */
async function listBesidesFence(table: MemoryTable, hasFence = true): Promise<string[]> {
  const { metadataLocation } = await table.load()
  return (await table.list()).filter((file) => !hasFence || file !== metadataLocation)
}

async function manySmallManifests() {
  const table = await MemoryTable.create({ io: new DyingIO() })
  for (let round = 0; round < 4; round += 1) await table.append(await table.files(1))
  return table
}

describe('an operation whose process died', () => {
  it.each(['cleanup', 'staged', 'written'] as const)('leaves nothing behind when it died at %s', async (diesAt) => {
    const table = await manySmallManifests()
    const before = await table.list()
    const ledger = new DyingLedger(diesAt)
    const input = { catalog: table.catalog, identifier: TABLE, request: {}, operationId: 'op-1', hooks: ledger.hooks }
    await untilDead(table, ledger, runRewriteManifests(input))
    if (diesAt !== 'cleanup') expect((await table.list()).length).toBeGreaterThan(before.length)
    const result = await reconcileOperation({ ...input, ...ledger.record })
    expect(result).toMatchObject({ outcome: 'not-committed', failedDeletions: [] })
    expect(await listBesidesFence(table, diesAt !== 'cleanup')).toEqual(before)
    expect(await planFiles(await table.load())).toHaveLength(4)
  })

  it('is recognized as committed and loses no file when it died right after the commit', async () => {
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

  it('is recognized as committed by its snapshot alone when the ledger does not have the staged file', async () => {
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
    // the same files again, as if the process had died before the deletion; a later commit used one of them
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

  it('leaves no metadata file behind when it died while writing it', async () => {
    const table = await manySmallManifests()
    const before = await table.list()
    const ledger = new DyingLedger('staged')
    const change = { kind: 'rename_column', name: 'id', newName: 'key' } as const
    const input = { catalog: table.catalog, identifier: TABLE, operationId: 'op-1' }
    await untilDead(table, ledger, runEvolve({ ...input, change, hooks: ledger.hooks }))
    const staged = ledger.location ?? ''
    const half = staged.replace(/[^/]+$/, (name) => `.tmp-${name}-0f5c`)
    const rival = staged.replace(/[^/]+$/, '.tmp-00007-b1c9.metadata.json-77aa')
    for (const location of [half, rival]) await table.io.write(location, new Uint8Array(3))
    expect(await reconcileOperation({ ...input, ...ledger.record })).toMatchObject({
      outcome: 'not-committed',
      deletedFiles: [half],
    })
    expect(await listBesidesFence(table)).toEqual([...before, rival].sort())
  })

  it('deletes nothing of an expiry that had not committed', async () => {
    const table = await MemoryTable.create({ io: new DyingIO() })
    const old = await table.files(3)
    await table.append(old)
    await table.replace(old)
    const before = await table.list()
    const ledger = new DyingLedger('written')
    const nowMs = Date.now() + 10 * DAY_MS
    await untilDead(
      table,
      ledger,
      runExpiry({ catalog: table.catalog, identifier: TABLE, request: {}, nowMs, hooks: ledger.hooks }),
    )
    const result = await reconcileOperation({
      catalog: table.catalog,
      identifier: TABLE,
      operationId: 'op-1',
      ...ledger.record,
    })
    expect(result).toMatchObject({ outcome: 'not-committed', deletedFiles: [ledger.location] })
    expect(await listBesidesFence(table)).toEqual(before)
  })

  it('distinguishes a committed evolution from one that lost to another commit', async () => {
    const table = await MemoryTable.create({ io: new DyingIO() })
    const ledger = new DyingLedger('written')
    const change = { kind: 'rename_column', name: 'id', newName: 'key' } as const
    const input = { catalog: table.catalog, identifier: TABLE, operationId: 'op-1' }
    await untilDead(table, ledger, runEvolve({ ...input, change, hooks: ledger.hooks }))
    await table.append(await table.files(1))
    expect(await reconcileOperation({ ...input, ...ledger.record })).toMatchObject({ outcome: 'not-committed' })
    const alive = new DyingLedger('never')
    await runEvolve({ ...input, change, hooks: alive.hooks })
    await table.append(await table.files(1))
    expect(await reconcileOperation({ ...input, ...alive.record })).toMatchObject({ outcome: 'committed' })
  })

  it('stays unknown and keeps every file when the log no longer reaches back to it', async () => {
    const table = await MemoryTable.create({
      io: new DyingIO(),
      properties: { 'write.metadata.previous-versions-max': '2' },
    })
    const ledger = new DyingLedger('written')
    const change = { kind: 'rename_column', name: 'id', newName: 'key' } as const
    const input = { catalog: table.catalog, identifier: TABLE, operationId: 'op-1' }
    await untilDead(table, ledger, runEvolve({ ...input, change, hooks: ledger.hooks }))
    for (let round = 0; round < 4; round += 1) await table.append(await table.files(1))
    const before = await table.list()
    expect(await reconcileOperation({ ...input, ...ledger.record })).toMatchObject({
      outcome: 'unknown',
      deletedFiles: [],
    })
    expect(await table.list()).toEqual(before)
  })

  it('is settled when its table is gone', async () => {
    const table = await MemoryTable.create({ io: new DyingIO() })
    const identifier = { namespace: ['ns'], name: 'gone' }
    expect(await reconcileOperation({ catalog: table.catalog, identifier, operationId: 'op-1' })).toMatchObject({
      outcome: 'no-such-table',
    })
  })
})
