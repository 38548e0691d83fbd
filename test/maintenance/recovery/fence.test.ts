import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { createHadoopCatalog } from '../../../src/catalog/hadoop/catalog.ts'
import { createMemoryCatalog } from '../../../src/catalog/memory/catalog.ts'
import { createSqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import type { StagedCommit } from '../../../src/iceberg/update/staged-commit.ts'
import { runEvolve } from '../../../src/maintenance/evolve.ts'
import { runRewriteManifests } from '../../../src/maintenance/manifests/rewrite-manifests.ts'
import type { OperationCleanup } from '../../../src/maintenance/operation-hooks.ts'
import { observedCatalog } from '../../../src/services/metrics/observed-catalog.ts'
import { type ReconcileInput, reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { openSqlDatabase } from '../../catalog/support.ts'
import { filesBelow } from '../../catalog/support-files.ts'
import { SCHEMA, TABLE } from '../memory-table.ts'

const KINDS = ['hadoop', 'sqlite', 'memory'] as const
const REWRITE = { identifier: TABLE, request: {}, operationId: 'op-1' } as const
type Kind = (typeof KINDS)[number]
/** When the process is paused: before its metadata file is written, or right after. */
type Moment = 'before the metadata file' | 'after the metadata file'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A point in the life of a process at which it stops until it is let go. */
class Pause {
  readonly #reached = Promise.withResolvers<void>()
  readonly #resumed = Promise.withResolvers<void>()

  get reached(): Promise<void> {
    return this.#reached.promise
  }

  async here(): Promise<void> {
    this.#reached.resolve()
    await this.#resumed.promise
  }

  end(): void {
    this.#resumed.resolve()
  }
}

/** Files that a process writes slowly: it is paused before or after its first metadata file. */
class SlowIO extends MemoryFileIO {
  pause: { readonly pause: Pause; readonly moment: Moment } | undefined

  override async create(location: string, bytes: Uint8Array): Promise<void> {
    const paused = location.endsWith('.metadata.json') ? this.pause : undefined
    if (paused !== undefined) this.pause = undefined
    if (paused?.moment === 'before the metadata file') await paused.pause.here()
    await super.create(location, bytes)
    if (paused?.moment === 'after the metadata file') await paused.pause.here()
  }
}

/** A table with four files, and catalogs that two processes open on it. */
async function twoProcesses(kind: Kind) {
  const io = new SlowIO()
  const folder = mkdtempSync(join(tmpdir(), 'fence-'))
  folders.push(folder)
  const options = { name: 'test', warehouse: '/wh', io }
  const memory = createMemoryCatalog(options)
  const open = (): Catalog => {
    if (kind === 'memory') return memory
    if (kind === 'hadoop') return createHadoopCatalog(options)
    return createSqlCatalog({ db: openSqlDatabase(join(folder, 'catalog.db')), ...options })
  }
  const one = open()
  await one.createNamespace(['ns'])
  await one.createTable(TABLE, { schema: SCHEMA, formatVersion: 2, properties: { 'commit.retry.min-wait-ms': '1' } })
  let files = 0
  const append = async (catalog: Catalog): Promise<void> => {
    files += 1
    const filePath = `/wh/ns/t/data/f${files}.parquet`
    await io.write(filePath, new Uint8Array(100))
    const size = { recordCount: 10, fileSizeInBytes: 100 }
    const file = { content: 'data', filePath, fileFormat: 'parquet', specId: 0, partition: [], ...size } as const
    await commitTable(catalog, TABLE, (fresh) => stageAppend(fresh, { files: [file], operationId: `setup-${files}` }))
  }
  for (let n = 0; n < 4; n += 1) await append(one)
  return { io, one, other: open(), append }
}

/** What the ledger has of an operation; once another process has settled it, its own process cannot write there. */
class SharedLedger {
  isSettled = false
  cleanup: OperationCleanup | undefined
  staged: StagedCommit | undefined

  readonly hooks = {
    onCleanup: async (cleanup: OperationCleanup): Promise<void> => {
      this.#require()
      this.cleanup = cleanup
    },
    onStaged: async (staged: StagedCommit): Promise<void> => {
      this.#require()
      this.staged = staged
    },
  }

  async reconcile(catalog: Catalog, more: Partial<ReconcileInput> = {}) {
    const result = await reconcileOperation({
      catalog,
      identifier: TABLE,
      operationId: 'op-1',
      ...(this.cleanup && { cleanup: this.cleanup }),
      ...(this.staged && { staged: this.staged }),
      ...more,
    })
    this.isSettled = result.outcome !== 'unknown'
    return result
  }

  #require(): void {
    if (this.isSettled) throw new IcebergError('CANCELLED', 'another process has ended operation op-1')
  }
}

/** What work resolves or rejects with. */
function settled(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error)
}

/** Reads everything that a table needs: each file of each snapshot. */
async function expectWhole({ io, ...table }: Table, files: number): Promise<void> {
  for (const { snapshotId } of table.metadata.snapshots) {
    for (const { dataFile } of await planFiles({ io, ...table }, { snapshotId })) {
      expect(await io.stat(dataFile.filePath), dataFile.filePath).toBeDefined()
    }
  }
  expect(await planFiles({ io, ...table })).toHaveLength(files)
}

describe.each(KINDS)('a %s catalog', (kind) => {
  it.each(['before the metadata file', 'after the metadata file'] as const)(
    'loses no file when a process commits after it was settled and paused %s',
    async (moment) => {
      if (kind === 'hadoop' && moment === 'after the metadata file') return expect(kind).toBe('hadoop') // there it is the commit
      const { io, one, other, append } = await twoProcesses(kind)
      const ledger = new SharedLedger()
      const pause = new Pause()
      io.pause = { pause, moment }
      const work = settled(runRewriteManifests({ ...REWRITE, catalog: one, hooks: ledger.hooks }))
      await pause.reached
      const result = await ledger.reconcile(other)
      expect(result).toMatchObject({ outcome: 'not-committed', failedDeletions: [] })
      expect(result.deletedFiles).not.toEqual([])
      await expectWhole(await other.loadTable(TABLE), 4)
      pause.end()
      expect(await work).toMatchObject({ code: 'CANCELLED' })
      await expectWhole(await other.loadTable(TABLE), 4)
      await append(other)
      await expectWhole(await other.loadTable(TABLE), 5)
    },
  )

  it('keeps the files of a commit that lands just before the fence', async () => {
    const { io, one, other } = await twoProcesses(kind)
    const ledger = new SharedLedger()
    const pause = new Pause()
    io.pause = { pause, moment: 'before the metadata file' }
    const work = runRewriteManifests({ ...REWRITE, catalog: one, hooks: ledger.hooks })
    await pause.reached
    let looks = 0
    const overtaken = observedCatalog(other, async (operation, call) => {
      const answer = await call()
      if (operation !== 'load_table' || (looks += 1) > 1) return answer // only the first look
      pause.end()
      await work
      return answer
    })
    expect(await ledger.reconcile(overtaken)).toMatchObject({ outcome: 'committed', deletedFiles: [] })
    await expectWhole(await other.loadTable(TABLE), 4)
  })

  it('deletes nothing and reports an unknown outcome while the fence cannot be made', async () => {
    const { io, one, other } = await twoProcesses(kind)
    const ledger = new SharedLedger()
    const pause = new Pause()
    io.pause = { pause, moment: 'before the metadata file' }
    const work = runRewriteManifests({ ...REWRITE, catalog: one, hooks: ledger.hooks })
    await pause.reached
    const unwritable = observedCatalog(other, async (operation, call) => {
      if (operation === 'commit') throw new IcebergError('IO_FAILED', 'the store does not respond')
      return call()
    })
    expect(await ledger.reconcile(unwritable)).toMatchObject({ outcome: 'unknown', deletedFiles: [] })
    pause.end()
    const { snapshot_id: id } = await work
    expect(await ledger.reconcile(other)).toMatchObject({ outcome: 'committed', snapshotId: BigInt(id ?? 0) })
    await expectWhole(await other.loadTable(TABLE), 4)
  })

  it('loses no file of a second part in flight when the first part of the operation is committed', async () => {
    const { io, one, other, append } = await twoProcesses(kind)
    const ledger = new SharedLedger()
    const first = await runRewriteManifests({ ...REWRITE, catalog: one, hooks: ledger.hooks })
    for (let n = 0; n < 2; n += 1) await append(other)
    const pause = new Pause()
    io.pause = { pause, moment: 'before the metadata file' }
    const work = settled(runRewriteManifests({ ...REWRITE, catalog: one, hooks: ledger.hooks }))
    await pause.reached
    const result = await ledger.reconcile(other)
    expect(result).toMatchObject({ outcome: 'committed', snapshotId: BigInt(first.snapshot_id ?? 0) })
    expect(result.deletedFiles).not.toEqual([])
    pause.end()
    expect(await work).toMatchObject({ code: 'CANCELLED' })
    await expectWhole(await other.loadTable(TABLE), 6)
  })

  it('lets nothing be deleted once the lock of the table is lost', async () => {
    const { io, one, other } = await twoProcesses(kind)
    const ledger = new SharedLedger()
    const pause = new Pause()
    io.pause = { pause, moment: 'before the metadata file' }
    void settled(runRewriteManifests({ ...REWRITE, catalog: one, hooks: ledger.hooks }))
    await pause.reached
    const before = [...(await filesBelow(io, '/wh/ns/t'))].filter((file) => file.includes('op-1'))
    const lost = new IcebergError('CANCELLED', 'another process may have taken table ns.t')
    let confirmations = 0
    // the fence is made, and the lock is lost before the first deletion
    const confirm = async (): Promise<void> => {
      if ((confirmations += 1) > 1) throw lost
    }
    await expect(ledger.reconcile(other, { confirm })).rejects.toBe(lost)
    expect([...(await filesBelow(io, '/wh/ns/t'))].filter((file) => file.includes('op-1'))).toEqual(before)
  })

  it('leaves no trace of the fence in properties and snapshots', async () => {
    const { io, one, other } = await twoProcesses(kind)
    const ledger = new SharedLedger()
    const pause = new Pause()
    io.pause = { pause, moment: 'before the metadata file' }
    const change = { kind: 'rename_column', name: 'id', newName: 'key' } as const
    const before = await one.loadTable(TABLE)
    const input = { catalog: one, identifier: TABLE, operationId: 'op-1', change, hooks: ledger.hooks }
    const work = settled(runEvolve(input))
    await pause.reached
    expect(await ledger.reconcile(other)).toMatchObject({ outcome: 'not-committed', deletedFiles: [] })
    pause.end()
    expect(await work).toMatchObject({ code: 'CANCELLED' })
    const after = await other.loadTable(TABLE)
    expect(after.metadata.properties).toEqual(before.metadata.properties)
    expect(after.metadata.snapshots).toEqual(before.metadata.snapshots)
    expect(after.metadata.currentSchemaId).toBe(before.metadata.currentSchemaId)
    expect(after.metadata.metadataLog.at(-1)?.metadataFile).toBe(before.metadataLocation)
  })
})
