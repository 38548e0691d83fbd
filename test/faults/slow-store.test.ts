import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'

import { planFiles } from '../../src/iceberg/scan/scan.ts'
import { type Lakehouse, openLakehouse } from '../interop/harness/lakehouse.ts'
import { Service } from '../interop/harness/service.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'
import { LONG } from '../support/effort.ts'
import { Relay } from '../support/network/relay.ts'
import { until } from '../support/waiting.ts'
import { QUICK_SERVICE } from './harness/rollouts.ts'
import { slowStoreFiles } from './harness/slow-store.ts'
import { expectLedgerIsTrue, idsOf, type LedgerEntry } from './harness/table-checks.ts'

const TABLE = { namespace: ['c'], name: 't' }
const FILES = 6
const ROWS = 10
const IDS = Array.from({ length: FILES * ROWS }, (_, id) => id)
const PATIENCE_MS = 120_000

interface Operation extends LedgerEntry {
  readonly error: { readonly code: string } | null
}

const closings: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

/** Two services on one state; the first one reaches the state through a relay, and its store is slow on demand. */
async function twoServices(kind: 'sql' | 'hadoop') {
  const folder = mkdtempSync(join(tmpdir(), 'slow-store-'))
  closings.push(() => rmSync(folder, { recursive: true, force: true }))
  const lake = await openLakehouse(`${folder}/lake`, kind)
  closings.push(() => lake.close())
  await lake.catalog.createNamespace(TABLE.namespace)
  const fields = [{ id: 1, name: 'id', required: false, type: { kind: 'long' as const } }]
  await lake.catalog.createTable(TABLE, { schema: { schemaId: 0, identifierFieldIds: [], fields } })
  for (let file = 0; file < FILES; file += 1) {
    await lake.append(TABLE, `SELECT i AS c1 FROM range(${file * ROWS}, ${(file + 1) * ROWS}) t(i)`)
  }
  const { place, remove } = await postgresPlace()
  closings.push(remove)
  const server = new URL(place)
  const relay = await Relay.start({ host: server.hostname, port: Number(server.port) })
  closings.push(() => relay.close())
  server.port = String(relay.port)
  const files = slowStoreFiles(join(folder, 'store'))
  const env = { AUDIT_KEY: 'a key of this test, of 32 characters or more', FAULTS_LEASE_MS: '3000' }
  const start = async (home: string, more: Readonly<Record<string, string>>): Promise<Service> => {
    const service = await Service.start({
      home: `${folder}/${home}`,
      entry: QUICK_SERVICE,
      env: { ...env, ...more },
    })
    closings.push(() => service.stop())
    return service
  }
  const one = await start('one', { DATABASE_URL: server.href, FAULTS_SLOW_STORE: join(folder, 'store') })
  await one.configure(lake.settings)
  const other = await start('other', { DATABASE_URL: place })
  return { lake, relay, files, one, other }
}

/** Begins a compaction whose metadata file is being written when this resolves. */
async function beginCompaction(one: Service, { slow, writing }: ReturnType<typeof slowStoreFiles>): Promise<string> {
  writeFileSync(slow, '')
  const begun = await one.post('/api/compact', { table: 'c.t', min_input_files: 2 }, { Prefer: 'respond-async' })
  expect(begun.status, JSON.stringify(begun.body)).toBe(202)
  await until(
    () => existsSync(writing),
    () => `a write of the metadata file\n${one.log}`,
    PATIENCE_MS,
  )
  return String(begun.body['operation_id'])
}

async function settledBy(other: Service, id: string): Promise<Operation> {
  const look = () => other.read<Operation>(`/api/operations/${id}`)
  await until(
    async () => (await look()).state !== 'running',
    async () => `an end of the operation ${JSON.stringify(await look())}\n${other.log}`,
    PATIENCE_MS,
  )
  return look()
}

async function expectWhole(lake: Lakehouse): Promise<void> {
  expect(await idsOf(lake, TABLE)).toEqual(IDS)
  const table = await lake.catalog.loadTable(TABLE)
  for (const { snapshotId } of table.metadata.snapshots) {
    for (const { dataFile } of await planFiles(table, { snapshotId })) {
      expect(await table.io.stat(dataFile.filePath), dataFile.filePath).toBeDefined()
    }
  }
}

describe.skipIf(postgresServer === undefined)('two services on one state', { timeout: 400_000, ...LONG }, () => {
  it.each(['sql', 'hadoop'] as const)(
    'lose no row of a %s catalog when the metadata file of one is written after the other has settled the operation',
    async (kind) => {
      const { lake, relay, files, one, other } = await twoServices(kind)
      const id = await beginCompaction(one, files)
      await relay.refuse()
      relay.cut()
      const settled = await settledBy(other, id)
      expect(settled).toMatchObject({ state: 'failed', error: { code: 'INTERRUPTED' } })
      await expectWhole(lake)
      await relay.listen()
      writeFileSync(files.go, '')
      await until(() => existsSync(files.written), 'an end of the write', PATIENCE_MS)
      await until(
        async () => (await one.get('/api/health/ready')).status === 200,
        () => one.log,
        PATIENCE_MS,
      )
      const again = await one.post('/api/compact', { table: 'c.t', min_input_files: 2 })
      expect(again.status, JSON.stringify(again.body)).toBe(200)
      await expectWhole(lake)
      const { operations } = await other.read<{ operations: readonly Operation[] }>('/api/operations')
      expect(operations.find((operation) => operation.id === id)).toEqual(settled)
      await expectLedgerIsTrue(lake, TABLE, operations)
    },
  )

  it('settle an operation of a service that vanished without closing its connections', async () => {
    const { lake, relay, files, one, other } = await twoServices('hadoop')
    const id = await beginCompaction(one, files)
    relay.isSilent = true // the database does not learn of the end
    await one.kill()
    expect(relay.open).toBeGreaterThan(0)
    expect(await settledBy(other, id)).toMatchObject({ state: 'failed', error: { code: 'INTERRUPTED' } })
    await expectWhole(lake)
  })
})
