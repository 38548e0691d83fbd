import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'

const TABLE = 's.events'

let lab: StreamLab
beforeEach(async () => {
  lab = await openLab()
  await lab.createTable(TABLE, [
    ['id', 'long'],
    ['name', 'string'],
  ])
  for (let at = 0; at < 6; at += 1) await lab.append(TABLE, numbered(at * 10, at * 10 + 10))
})
afterEach(() => lab.close())

/** Counts table loads through the real catalog of the service. `onFirst` runs after the first one. */
function countLoads(onFirst: () => Promise<unknown> = async () => undefined): () => number {
  const catalog = lab.catalog()
  const load = catalog.loadTable.bind(catalog)
  let loads = 0
  catalog.loadTable = async (identifier: TableIdentifier) => {
    loads += 1
    const table = await load(identifier)
    if (loads === 1) await onFirst()
    return table
  }
  return () => loads
}

const compact = () => lab.service.post('/api/compact', { table: TABLE, min_input_files: 2 })

describe('POST /api/compact', () => {
  it('loads the table once, and reports its health before and after', async () => {
    const loads = countLoads()
    const { status, body } = await compact()
    expect(loads()).toBe(1)
    expect(status).toBe(200)
    const details = JSON.parse(body.details_json)
    expect(details).toMatchObject({ rewritten_data_files_count: 6, added_data_files_count: 1 })
    expect(details.before).toMatchObject({ data_file_count: 6 })
    expect(details.after).toMatchObject({ data_file_count: 1 })
    expect((await lab.load(TABLE)).metadata.currentSnapshotId?.toString()).toBe(details.snapshot_id)
    expect(await lab.rows(TABLE)).toHaveLength(60)
  })

  it('loads it again after a concurrent commit, and keeps the rows of both', async () => {
    let rival: (() => Promise<unknown>) | undefined = () => lab.append(TABLE, numbered(100, 110))
    const loads = countLoads(async () => {
      const once = rival
      rival = undefined
      await once?.()
    })
    const { status, body } = await compact()
    expect(status).toBe(200)
    expect(JSON.parse(body.details_json)).toMatchObject({ rewritten_data_files_count: 6 })
    expect(loads()).toBe(4) // the first, two of the other writer, and one to stage on the new table version
    expect(await lab.rows(TABLE)).toHaveLength(70)
  })

  it('loads it once for a dry run', async () => {
    const loads = countLoads()
    const { status } = await lab.service.post('/api/compact', { table: TABLE, min_input_files: 2, dry_run: true })
    expect(loads()).toBe(1)
    expect(status).toBe(200)
  })
})
