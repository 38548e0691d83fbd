import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSqlCatalog, type SqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import type { SqlCatalogTables } from '../../../src/catalog/sql/tables.ts'
import { previewRemoveOrphans, runRemoveOrphans } from '../../../src/maintenance/orphans/orphan-files.ts'
import { sqliteDialect } from '../../../src/storage/dialects/sqlite.ts'
import { SCHEMA } from '../../maintenance/memory-table.ts'
import { SharedLake } from './shared-lake.ts'

let lake: SharedLake
/** Another database over the same warehouse: neither catalog knows the tables of the other. */
let other: SqlCatalog
beforeEach(async () => {
  lake = await SharedLake.open()
  const db = new Kysely<SqlCatalogTables>({ dialect: sqliteDialect(join(lake.folder, 'other.db')) })
  other = createSqlCatalog({ db, name: 'other', warehouse: lake.warehouse, io: lake.io })
  await other.createNamespace(['db'])
  await lake.create('t')
  for (let at = 0; at < 3; at += 1) await lake.append('t', [await lake.file('t')])
})
afterEach(async () => {
  await other.close()
  await lake.close()
})

async function expectRefused(): Promise<void> {
  const files = await lake.reachable('t')
  const run = { ...lake.run('t'), catalog: other }
  for (const remove of [previewRemoveOrphans, runRemoveOrphans]) {
    await expect(remove(run)).rejects.toMatchObject({ code: 'TABLES_OVERLAP' })
  }
  expect(await lake.missing(files)).toEqual([])
}

describe('orphan removal in a catalog that does not know other users of the folder', () => {
  it('refuses to treat the files of another table as orphans', async () => {
    await other.createTable(lake.id('t'), { schema: SCHEMA })
    await expectRefused()
  })

  it('refuses to treat later files of the same table as orphans', async () => {
    const { metadataLog } = (await lake.load('t')).metadata
    await other.registerTable(lake.id('t'), metadataLog[1]?.metadataFile ?? '')
    await expectRefused()
  })

  it('continues despite files of failed commits and truncated logs', async () => {
    const metadataFolder = `${lake.warehouse}/db/t/metadata`
    const failed = `${metadataFolder}/00004-failed.metadata.json`
    const { metadataLocation } = await lake.append('t', [await lake.file('t')])
    await copyFile(metadataLocation.replace(/^file:(\/\/)?/, ''), failed) // based on a state that is in the log
    await lake.io.write(`${metadataFolder}/00005-cut.metadata.json`, new TextEncoder().encode('{"format-ver'))
    await lake.setProperties('t', { 'write.metadata.previous-versions-max': '2' })
    for (let at = 0; at < 3; at += 1) await lake.append('t', [await lake.file('t')])
    const files = await lake.reachable('t')
    const { deleted_files_count: deleted } = await runRemoveOrphans(lake.run('t'))
    expect(deleted).toBeGreaterThan(5)
    expect(await lake.missing([failed])).toEqual([failed])
    expect(await lake.missing(files)).toEqual([])
  })
})
