import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { runEvolve } from '../../../src/maintenance/evolve.ts'
import { runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import type { OperationCleanup } from '../../../src/maintenance/operation-hooks.ts'
import { reconcileOperation } from '../../../src/maintenance/recovery/reconcile.ts'
import { runRewriteManifests } from '../../../src/maintenance/manifests/rewrite-manifests.ts'
import type { CatalogStore } from '../../catalog/catalog-behaviour.ts'
import { FakeRestServer } from '../../catalog/rest/rest-server.ts'
import { restStore } from '../../catalog/rest/rest-support.ts'
import { createEvents, EVENTS, filesBelow } from '../../catalog/support-files.ts'
import type { StagedCommit } from '../../../src/iceberg/update/staged-commit.ts'
import { until } from '../../support/waiting.ts'

const DAY_MS = 86_400_000
const COMMIT = /^POST .*\/tables\/events$/
const UNKNOWN = { outcome: 'unknown', deletedFiles: [], failedDeletions: [] }

let server: FakeRestServer
let folder: string
let store: CatalogStore
let catalog: Catalog
let written = 0

beforeEach(async () => {
  server = await FakeRestServer.start()
  folder = mkdtempSync(join(tmpdir(), 'reconcile-rest-'))
  store = restStore({ uri: server.uri, warehouse: server.addWarehouse(join(folder, 'warehouse')), folder })
  catalog = store.open()
  await createEvents(catalog)
  for (let i = 0; i < 4; i++) await append()
})

afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The content of a ledger entry of an operation. */
class Ledger {
  cleanup: OperationCleanup | undefined
  staged: StagedCommit | undefined
  readonly #dies: boolean

  /** `dies`: nothing happens after the commit is staged. */
  constructor(dies: boolean) {
    this.#dies = dies
  }

  readonly hooks = {
    onCleanup: async (cleanup: OperationCleanup): Promise<void> => {
      this.cleanup = cleanup
    },
    onStaged: async (staged: StagedCommit): Promise<void> => {
      this.staged = staged
      if (this.#dies) await new Promise(() => {})
    },
  }

  reconcile() {
    return reconcileOperation({
      catalog: store.open(),
      identifier: EVENTS,
      operationId: 'op-1',
      ...(this.cleanup && { cleanup: this.cleanup }),
      ...(this.staged && { staged: this.staged }),
    })
  }
}

/** Adds a file without rows, for code that reads only metadata. */
async function append(): Promise<void> {
  const filePath = `${store.warehouse}/db/events/data/f${written++}.parquet`
  await store.io.write(filePath, new Uint8Array(100))
  const size = { recordCount: 10, fileSizeInBytes: 100 }
  const file: DataFile = { content: 'data', filePath, fileFormat: 'parquet', specId: 0, partition: [], ...size }
  await commitTable(catalog, EVENTS, (table) => stageAppend(table, { files: [file], operationId: `setup-${written}` }))
}

function rewriteManifests(ledger: Ledger) {
  return runRewriteManifests({ catalog, identifier: EVENTS, request: {}, operationId: 'op-1', hooks: ledger.hooks })
}

function files(): Promise<string[]> {
  return filesBelow(store.io, store.warehouse)
}

async function liveFiles(): Promise<number> {
  const tasks = await planFiles(await store.open().loadTable(EVENTS))
  for (const { dataFile } of tasks) expect(await store.io.stat(dataFile.filePath)).toBeDefined()
  return tasks.length
}

describe('an operation on a REST catalog', () => {
  it('that died during its commit stays unknown until others commit on top; then its files are deleted', async () => {
    const before = await files()
    const ledger = new Ledger(true)
    void rewriteManifests(ledger)
    await until(() => ledger.staged !== undefined)
    const during = await files()
    expect(during.length).toBeGreaterThan(before.length)
    expect(await ledger.reconcile()).toEqual(UNKNOWN)
    expect(await files()).toEqual(during)
    await append()
    const result = await ledger.reconcile()
    expect(result).toMatchObject({ outcome: 'not-committed', failedDeletions: [] })
    expect(result.deletedFiles).toHaveLength(during.length - before.length)
    expect(await liveFiles()).toBe(5)
  })

  it('whose commit lands after its process has died loses nothing', async () => {
    let land = (): void => {}
    const arrived = new Promise<void>((resolve) => {
      server.fail(COMMIT, { kind: 'hold', until: new Promise((done) => (land = done)), arrived: resolve })
    })
    const ledger = new Ledger(false)
    const dying = rewriteManifests(ledger)
    await arrived
    const during = await files()
    expect(await ledger.reconcile()).toEqual(UNKNOWN)
    expect(await files()).toEqual(during)
    land()
    const { snapshot_id } = await dying
    expect(await ledger.reconcile()).toEqual({
      outcome: 'committed',
      snapshotId: BigInt(snapshot_id ?? 0),
      deletedFiles: [],
      failedDeletions: [],
    })
    expect(await liveFiles()).toBe(4)
  })

  it('that never reached its commit is cleaned up', async () => {
    const before = await files()
    const ledger = new Ledger(true)
    void rewriteManifests(ledger)
    await until(() => ledger.staged !== undefined)
    ledger.staged = undefined // as if the process had died just before
    expect((await ledger.reconcile()).outcome).toBe('not-committed')
    expect(await files()).toEqual(before)
  })

  it('that removes snapshots is recognized by the files it made unreachable, and is finished', async () => {
    const nowMs = Date.now() + 10 * DAY_MS
    const dead = new Ledger(true)
    void runExpiry({ catalog, identifier: EVENTS, request: {}, nowMs, hooks: dead.hooks })
    await until(() => dead.staged !== undefined)
    const during = await files()
    expect(await dead.reconcile()).toEqual(UNKNOWN)
    expect(await files()).toEqual(during)
    const ledger = new Ledger(false)
    await runExpiry({ catalog, identifier: EVENTS, request: {}, nowMs, hooks: ledger.hooks })
    const expired = ledger.cleanup?.files ?? []
    expect(expired).not.toEqual([])
    for (const file of expired) await store.io.write(file, new Uint8Array(1)) // as if it had died before the deletion
    const result = await ledger.reconcile()
    expect(result.outcome).toBe('committed')
    expect([...result.deletedFiles].sort()).toEqual([...expired].sort())
    expect(await liveFiles()).toBe(4)
  })

  it('that changes the schema stays unknown', async () => {
    const ledger = new Ledger(true)
    const change = { kind: 'add_column', name: 'x', type: 'long' } as const
    void runEvolve({ catalog, identifier: EVENTS, change, hooks: ledger.hooks })
    await until(() => ledger.staged !== undefined)
    expect(await ledger.reconcile()).toEqual(UNKNOWN)
  })
})
