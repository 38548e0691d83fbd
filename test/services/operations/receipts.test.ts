import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { savingsOf } from '../../../src/domain/tables/prices.ts'
import { figuresOf } from '../../../src/services/operations/receipt.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const TABLE = 'demo.events'
const PRICES = { COST_PER_GB_MONTH: '0.5', COST_PER_1000_REQUESTS: '0.004', COST_CURRENCY: 'EUR', QUARANTINE_DAYS: '0' }

describe('the receipt of an operation', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ env: PRICES, events: { commits: 30, filesPerCommit: 1, rowsPerFile: 10 } })
  })
  afterAll(() => service.close())

  /** Runs a plan of the operation; returns what the ledger has, and how many bytes of which files disappeared. */
  async function apply(path: string, options: object, counted: RegExp) {
    const before = await bytesBelow(service.folder, counted)
    const preview = await service.post(path, { table: TABLE, dry_run: true, ...options })
    const applied = await service.post(path, { table: TABLE, plan_id: preview.body.plan_id })
    expect(applied.status, JSON.stringify(applied.body)).toBe(200)
    const { body } = await service.get(`/api/operations/${applied.body.operation_id}`)
    return { operation: body, freed: before - (await bytesBelow(service.folder, counted)) }
  }

  it('of a compaction has what was planned, what was removed, and what a scan costs before and after', async () => {
    const { operation, freed } = await apply('/api/compact', {}, /\.parquet$/)
    const { receipt, health_before: before, health_after: after } = operation
    const removed = before.data_file_count - after.data_file_count
    expect(removed).toBeGreaterThan(20)
    expect(receipt.projected).toMatchObject({ files_removed: removed, bytes_freed: null })
    expect(receipt.measured).toMatchObject({
      files_removed: removed,
      delete_files_removed: before.delete_file_count - after.delete_file_count,
      storage_freed_bytes: freed,
      bytes_rewritten: operation.bytes_read,
    })
    expect(freed).toBeLessThan(0)
    expect(receipt.measured.bytes_freed).toBe(operation.bytes_read - operation.bytes_written)
    for (const [scan, health] of [
      [receipt.scan.before, before],
      [receipt.scan.after, after],
    ]) {
      expect(scan).toMatchObject({ manifests: health.manifest_count, data_files: health.data_file_count })
      expect(scan.requests).toBe(1 + scan.manifests + scan.data_files + scan.delete_files)
      expect(scan.planning_ms).toBeGreaterThan(0)
    }
    expect(receipt.scan.before.delete_files).toBeGreaterThan(0)
    const saved = receipt.scan.before.requests - receipt.scan.after.requests
    expect(receipt.money).toEqual({
      currency: 'EUR',
      storage_per_month: (freed / 1e9) * 0.5,
      thousand_scans: saved * 0.004,
    })
  })

  it('of an expiry has the bytes that are no longer stored', async () => {
    const { operation, freed } = await apply(
      '/api/expire',
      { older_than: inTheFuture(), retain_last: 1 },
      /\.(parquet|avro)$/,
    )
    const { projected, measured, scan, money } = operation.receipt
    expect(freed).toBeGreaterThan(0)
    expect(measured).toMatchObject({ storage_freed_bytes: freed, bytes_freed: freed, bytes_rewritten: 0 })
    expect(measured.files_removed).toBe(operation.result.deleted_data_files_count)
    expect(measured.files_removed).toBeGreaterThan(20)
    expect(measured).toEqual(projected)
    expect(scan).toBeNull()
    expect(money).toEqual({ currency: 'EUR', storage_per_month: (freed / 1e9) * 0.5, thousand_scans: null })
  })

  it('has no projection without a plan; an operation without a gain has no receipt', async () => {
    const direct = await service.post('/api/rewrite-manifests', { table: TABLE })
    const { body: ran } = await service.get(`/api/operations/${direct.body.operation_id}`)
    expect(ran.receipt).toMatchObject({ projected: null, measured: { files_removed: 0 } })
    const column = await service.post('/api/evolve/add-column', { table: TABLE, name: 'note', type: 'string' })
    const { body: changed } = await service.get(`/api/operations/${column.body.operation_id}`)
    expect(changed).toMatchObject({ state: 'succeeded', receipt: null })
  })
})

function inTheFuture(): string {
  return new Date(Date.now() + 1000).toISOString()
}

async function bytesBelow(folder: string, pattern: RegExp): Promise<number> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => entry.isFile() && pattern.test(entry.name))
  const sizes = await Promise.all(files.map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size))
  return sizes.reduce((total, size) => total + size, 0)
}

describe('the figures of a result', () => {
  it('are unknown where the result does not have them', () => {
    expect(figuresOf('expire', { freed_bytes: null })).toMatchObject({ files_removed: null, bytes_freed: null })
    expect(figuresOf('compact', { rewritten_data_files_count: 3 })).toMatchObject({ files_removed: null })
    expect(figuresOf('rollback', { freed_bytes: 1 })).toBeUndefined()
  })
})

describe('money', () => {
  const amounts = { storedBytes: 2e9, scanRequests: -10 }

  it('is left out without prices, and partly with one of them', () => {
    const none = { currency: 'USD', perGbMonth: undefined, perThousandRequests: undefined }
    expect(savingsOf(amounts, none)).toBeNull()
    expect(savingsOf(amounts, undefined)).toBeNull()
    expect(savingsOf(amounts, { ...none, perGbMonth: 0.02 })).toEqual({
      currency: 'USD',
      storage_per_month: 0.04,
      thousand_scans: null,
    })
    expect(savingsOf(amounts, { ...none, perThousandRequests: 0 })).toMatchObject({ storage_per_month: null })
    expect(savingsOf(amounts, { ...none, perThousandRequests: 0.5 })?.thousand_scans).toBe(-5)
  })
})
