import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pyicebergAvailable, restServerAvailable, sparkAvailable, SQLITE_JDBC_JAR } from './harness/environment.ts'
import { hashTree } from './harness/file-tree.ts'
import { ObjectStore } from './harness/object-store.ts'
import { runPython } from './harness/python.ts'
import { RestServer } from './harness/rest-server.ts'
import { Service } from './harness/service.ts'
import { SparkSession } from './harness/spark.ts'
import { isWholeRun } from '../support/effort.ts'

/** For each snapshot by its id, its rows. */
type History = Readonly<Record<string, { readonly count: number; readonly hash: string }>>

const TABLES = ['small_appends', 'by_region', 'evolved_spec', 'copy_on_write', 'tagged', 'format_version_1']
const EVERYWHERE = ['evolved_spec', 'tagged']
const LOCAL = 'on this machine'
const available = pyicebergAvailable('restored snapshots')

const PLACES = [
  LOCAL,
  'in an object store',
  ...(restServerAvailable('quarantine behind a REST server') ? ['behind a REST server'] : []),
]

describe.skipIf(!available).each(PLACES)('snapshots restored %s', { timeout: 600_000 }, (place) => {
  /** Elsewhere, files and commits differ and tables do not: only a whole run tries all of them. */
  const names = place === LOCAL || isWholeRun ? TABLES : EVERYWHERE
  const tables = names.map((name) => `py.${name}`)
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-undo-')) : ''
  let store: ObjectStore | undefined
  let rest: RestServer | undefined
  let service: Service
  const catalog = {
    uri: `sqlite:///${folder}/catalog.db`,
    warehouse: `file://${folder}/warehouse`,
    name: 'lockhouse',
    properties: {},
  }

  beforeAll(async () => {
    mkdirSync(`${folder}/warehouse`)
    if (place === 'in an object store') {
      store = await ObjectStore.start()
      catalog.warehouse = `s3://${store.bucket}/warehouse`
      catalog.properties = store.properties
    }
    if (place === 'behind a REST server') {
      rest = await RestServer.start()
      catalog.uri = rest.uri(folder)
    }
    await runPython('pyiceberg_tables.py', { ...catalog, namespace: 'py', only: names })
    service = await Service.start({ home: `${folder}/home` })
    await service.configure({
      catalog_type: rest === undefined ? 'sql' : 'rest',
      uri: catalog.uri,
      warehouse: catalog.warehouse,
      catalog_name: catalog.name,
      extra_props: catalog.properties,
    })
  })
  afterAll(async () => {
    await service?.stop()
    await store?.stop()
    await rest?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const read = (options: object = {}): Promise<Record<string, History>> =>
    runPython('pyiceberg_history.py', { ...catalog, tables, ...options })
  const soon = () => new Date(Date.now() + 60_000).toISOString()

  it('are the same for PyIceberg as before the expiry', async () => {
    for (const table of tables) await service.operate('/api/compact', { table, min_input_files: 2 })
    const before = await read()
    const files = place === LOCAL ? await dataFiles(`${folder}/warehouse`) : {}
    const entries: Record<string, string> = {}
    let expired = 0
    for (const table of tables) {
      const { details } = await service.operate('/api/expire', { table, older_than: soon(), retain_last: 1 })
      expired += Number(details['expired_snapshots_count'])
      entries[table] = (details['quarantine'] as { id: string }).id
    }
    expect(expired).toBeGreaterThan(tables.length)
    const between = await read()
    for (const table of tables) {
      const { details } = await service.operate(`/api/quarantine/${entries[table]}/restore`, {})
      expect(details, table).toMatchObject({ missing_files_count: 0 })
      if (rest === undefined) expect(details, table).toMatchObject({ left_out_snapshots: [], left_out_refs: [] })
      else expect(JSON.stringify(details['left_out_snapshots'])).toContain('cannot put expired snapshots back')
    }
    expect(await read()).toEqual(rest === undefined ? before : between)
    if (place === LOCAL) expect(await dataFiles(`${folder}/warehouse`)).toEqual(files)
    const appended = await read({ append: true })
    for (const table of tables)
      expect(appended[table]).toMatchObject((rest === undefined ? before : between)[table] ?? {})
  })
})

/** Hashes of files by path, without table metadata. */
async function dataFiles(folder: string): Promise<Record<string, string>> {
  return Object.fromEntries(Object.entries(await hashTree(folder)).filter(([path]) => !path.endsWith('.metadata.json')))
}

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 19).replace('T', ' ')

const canUseSpark = available && sparkAvailable('restored snapshots in Spark') && Boolean(SQLITE_JDBC_JAR)

describe.skipIf(!canUseSpark)('snapshots of Spark tables', { timeout: 600_000 }, () => {
  const folder = canUseSpark ? mkdtempSync(join(tmpdir(), 'interop-undo-spark-')) : ''
  let spark: SparkSession
  let service: Service
  beforeAll(async () => {
    mkdirSync(`${folder}/warehouse`)
    const sqlCatalog = { path: `${folder}/catalog.db`, warehouse: `file://${folder}/warehouse` }
    spark = await SparkSession.start({ scratch: folder, warehouse: `file://${folder}/hadoop`, sqlCatalog })
    await spark.sql('CREATE NAMESPACE lockhouse.s')
    for (const version of [2, 3]) {
      const table = `lockhouse.s.v${version}`
      await spark.sql(
        `CREATE TABLE ${table} (id BIGINT, name STRING) TBLPROPERTIES ('format-version'='${version}', ` +
          `'write.delete.mode'='merge-on-read')`,
        ...[0, 1, 2].map(
          (at) => `INSERT INTO ${table} SELECT id, CAST(id AS STRING) FROM range(${at * 100}, ${at * 100 + 100})`,
        ),
        `DELETE FROM ${table} WHERE id % 7 = 3`,
      )
    }
    service = await Service.start({ home: `${folder}/home` })
    await service.configure({
      catalog_type: 'sql',
      uri: `sqlite:///${folder}/catalog.db`,
      warehouse: `file://${folder}/warehouse`,
      catalog_name: 'lockhouse',
    })
  })
  afterAll(async () => {
    await service?.stop()
    await spark?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it.each([2, 3])(
    'of version %d are the same for Spark after a restore, which then writes and expires',
    async (version) => {
      const table = `lockhouse.s.v${version}`
      await service.operate('/api/compact', { table: `s.v${version}`, rewrite_all: true })
      const [listed] = await spark.sql(`SELECT CAST(snapshot_id AS STRING) AS id FROM ${table}.snapshots`)
      const ids = (listed?.rows ?? []).map(({ id }) => String(id))
      const extra = version === 3 ? ', sum(_row_id) AS r, sum(_last_updated_sequence_number) AS s' : ''
      const readAll = async () => {
        const queries = ids.map(
          (id) => `SELECT count(*) AS n, sum(id) AS total${extra} FROM ${table} VERSION AS OF ${id}`,
        )
        return (await spark.sql(...queries)).map(({ rows }) => rows)
      }
      const before = await readAll()
      expect(ids.length).toBe(5)
      const older_than = new Date(Date.now() + 60_000).toISOString()
      const { details } = await service.operate('/api/expire', { table: `s.v${version}`, older_than, retain_last: 1 })
      expect(details['expired_snapshots_count']).toBe(4)
      const { id } = details['quarantine'] as { id: string }
      // Spark finds files that are old enough and that it can see
      const away = readdirSync(`${folder}/warehouse`, { recursive: true, withFileTypes: true }).filter(
        (entry) => entry.isFile() && entry.parentPath.includes('.lockhouse-quarantine'),
      )
      expect(away.length).toBeGreaterThan(5)
      const old = new Date(Date.now() - 5 * 86_400_000)
      for (const entry of away) utimesSync(join(entry.parentPath, entry.name), old, old)
      const [orphans] = await spark.sql(
        `CALL lockhouse.system.remove_orphan_files(table => 's.v${version}', older_than => TIMESTAMP '${daysAgo(2)}')`,
      )
      expect(orphans?.rows).toEqual([])
      await service.operate(`/api/quarantine/${id}/restore`, {})
      expect(await readAll()).toEqual(before)
      await spark.sql(`INSERT INTO ${table} VALUES (1000, 'after')`)
      expect(await readAll()).toEqual(before)
      await spark.sql(
        `CALL lockhouse.system.expire_snapshots(table => 's.v${version}', older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)`,
      )
      const [after] = await spark.sql(`SELECT count(*) AS n FROM ${table}`)
      const newest = before.at(-1)?.[0]?.['n']
      expect(after?.rows).toEqual([{ n: Number(newest) + 1 }])
    },
  )
})
