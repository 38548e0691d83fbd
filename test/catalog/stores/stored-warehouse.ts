import { expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { deleteRow, numbered, orphansOf, type StreamLab } from '../../streaming/support.ts'
import { stormyFaults } from '../../support/network/store-answers.ts'
import { setProperty } from '../support-files.ts'

interface OpenedWarehouse {
  /** A service over the warehouse, which has the namespace `s`. */
  readonly lab: StreamLab
  /** Makes the store answer requests with these faults; undefined: it answers all well. */
  readonly setFault: (fault: ReturnType<typeof stormyFaults> | undefined) => void
}

/** What a warehouse in an object store keeps while tables are maintained, writers compete and requests fail. */
export function storedWarehouseBehaviour(opened: () => OpenedWarehouse): void {
  it('reports health, compacts and expires a table that keeps its rows', async () => {
    const { lab } = opened()
    await lab.createTable('s.events', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    for (let file = 0; file < 6; file += 1) await lab.append('s.events', numbered(file * 10, file * 10 + 10))
    await deleteRow(lab, 's.events', 59)
    const rows = await lab.rows('s.events')
    expect(rows).toHaveLength(59)
    const before = await lab.service.get('/api/table/s.events/health')
    expect(before.status, JSON.stringify(before.body)).toBe(200)
    const compacted = await lab.service.post('/api/compact', { table: 's.events', min_input_files: 2 })
    expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
    expect(await lab.rows('s.events')).toEqual(rows)
    const older_than = new Date(Date.now() + 1000).toISOString()
    const expired = await lab.service.post('/api/expire', { table: 's.events', older_than, retain_last: 1 })
    expect(expired.status, JSON.stringify(expired.body)).toBe(200)
    const { quarantine } = JSON.parse(expired.body.details_json)
    const purged = await lab.service.call('POST', `/api/quarantine/${quarantine.id}/purge`)
    expect(purged.body).toMatchObject({ deleted_files_count: quarantine.files_count, failed_deletions_count: 0 })
    expect(await lab.rows('s.events')).toEqual(rows)
    expect(await orphansOf(await lab.load('s.events'))).toEqual([])
  })

  it('keeps every commit of concurrent writers while requests fail', async () => {
    const { lab, setFault } = opened()
    const table = await lab.createTable('s.shared', [['id', 'long']])
    setFault(stormyFaults(5))
    const retries = { count: 1000, minWaitMs: 1, maxWaitMs: 20 }
    const names = Array.from({ length: 12 }, (_, n) => `writer-${n}`)
    await Promise.all(
      names.map((name) => commitTable(lab.catalog(), table.identifier, setProperty(name, 'yes'), { retries })),
    )
    setFault(undefined)
    expect(Object.keys((await lab.load('s.shared')).metadata.properties)).toEqual(expect.arrayContaining(names))
  })

  it('keeps every row when a compaction meets a writer and failing requests', async () => {
    const { lab, setFault } = opened()
    await lab.createTable('s.busy', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    for (let file = 0; file < 4; file += 1) await lab.append('s.busy', numbered(file * 10, file * 10 + 10))
    setFault(stormyFaults(7))
    const [compacted] = await Promise.all([
      lab.service.post('/api/compact', { table: 's.busy', min_input_files: 2 }),
      lab.append('s.busy', numbered(40, 50)),
    ])
    setFault(undefined)
    expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
    expect(await lab.rows('s.busy')).toHaveLength(50)
  })
}
