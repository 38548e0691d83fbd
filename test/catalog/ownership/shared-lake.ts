import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { createSqlCatalog, type SqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import type { SqlCatalogTables } from '../../../src/catalog/sql/tables.ts'
import type { FileIO } from '../../../src/iceberg/io/file-io.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { loadEntries, loadManifests } from '../../../src/iceberg/manifest/cache.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { isLive, planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { Table, TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../../src/iceberg/update/stage/stage-rewrite.ts'
import { sqliteDialect } from '../../../src/storage/dialects/sqlite.ts'
import { SCHEMA } from '../../maintenance/memory-table.ts'
import { commitOnce } from '../support-files.ts'

const DAY_MS = 86_400_000

/** Tables of one SQL catalog on this disk, which other clients can change freely. Data files have no rows. */
export class SharedLake {
  readonly folder: string
  readonly warehouse: string
  readonly catalog: SqlCatalog
  readonly io: FileIO
  readonly #db: Kysely<SqlCatalogTables>
  #count = 0

  private constructor(folder: string, through: (io: FileIO) => FileIO) {
    this.folder = folder
    this.warehouse = join(folder, 'wh')
    this.io = through(new LocalFileIO({ roots: [this.warehouse] }))
    this.#db = new Kysely<SqlCatalogTables>({ dialect: sqliteDialect(join(folder, 'catalog.db')) })
    this.catalog = createSqlCatalog({ db: this.#db, name: 'test', warehouse: this.warehouse, io: this.io })
  }

  /** `through` may watch the files of the tables. */
  static async open(through = (io: FileIO): FileIO => io): Promise<SharedLake> {
    const lake = new SharedLake(await realpath(await mkdtemp(join(tmpdir(), 'lockhouse-shared-'))), through)
    await lake.catalog.createNamespace(['db'])
    return lake
  }

  async close(): Promise<void> {
    await this.catalog.close()
    await rm(this.folder, { recursive: true, force: true })
  }

  id(name: string): TableIdentifier {
    return { namespace: ['db'], name }
  }

  async create(name: string, properties: Readonly<Record<string, string>> = {}): Promise<Table> {
    return this.catalog.createTable(this.id(name), { schema: SCHEMA, properties })
  }

  load(name: string): Promise<Table> {
    return this.catalog.loadTable(this.id(name))
  }

  /** Metadata that another client writes to the catalog's table. */
  async plant(name: string, metadataLocation: string, catalogName = 'test'): Promise<void> {
    const row = {
      catalog_name: catalogName,
      table_namespace: 'db',
      table_name: name,
      metadata_location: metadataLocation,
      previous_metadata_location: null,
      iceberg_type: 'TABLE',
    }
    await this.#db.insertInto('iceberg_tables').values(row).execute()
  }

  /** A file that exists, in the table's data folder or at the given location. */
  async file(name: string, location?: string): Promise<DataFile> {
    this.#count += 1
    const filePath = location ?? `${this.warehouse}/db/${name}/data/f${this.#count}.parquet`
    if ((await this.io.stat(filePath)) === undefined) await this.io.write(filePath, new Uint8Array(100))
    return this.describe(filePath)
  }

  describe(filePath: string): DataFile {
    return {
      content: 'data',
      filePath,
      fileFormat: 'parquet',
      specId: 0,
      partition: [],
      recordCount: 10,
      fileSizeInBytes: 100,
    }
  }

  async append(name: string, files: readonly DataFile[]): Promise<Table> {
    const operationId = `a${(this.#count += 1)}`
    return (await commitTable(this.catalog, this.id(name), (table) => stageAppend(table, { files, operationId }))).table
  }

  /** Removes all live files of a table that a rule selects, and adds one file with their rows. */
  async replace(name: string, pick: (file: DataFile) => boolean = () => true): Promise<void> {
    const live = (await planFiles(await this.load(name))).map(({ dataFile }) => dataFile).filter(pick)
    if (live.length === 0) return
    const recordCount = live.reduce((total, file) => total + file.recordCount, 0)
    const added = [{ ...(await this.file(name)), recordCount }]
    const operationId = `r${(this.#count += 1)}`
    await commitTable(this.catalog, this.id(name), (table) => {
      const start = table.metadata.snapshots.find(({ snapshotId }) => snapshotId === table.metadata.currentSnapshotId)
      if (start === undefined) throw new Error('nothing to replace')
      const starting = { startingSnapshotId: start.snapshotId, startingSequenceNumber: start.sequenceNumber }
      return stageRewrite(table, { ...starting, replaced: live, added, operationId })
    })
  }

  async setProperties(name: string, updates: Readonly<Record<string, string>>): Promise<void> {
    await commitOnce(this.catalog, this.id(name), {
      requirements: [],
      updates: [{ action: 'set-properties', updates }],
    })
  }

  async setLocation(name: string, location: string): Promise<void> {
    await commitOnce(this.catalog, this.id(name), { requirements: [], updates: [{ action: 'set-location', location }] })
  }

  async reachable(name: string): Promise<ReadonlySet<string>> {
    return reachableFrom(await this.load(name))
  }

  /** The given files that do not exist. */
  async missing(files: Iterable<string>): Promise<string[]> {
    const gone: string[] = []
    for (const file of files) if ((await this.io.stat(file)) === undefined) gone.push(file)
    return gone
  }

  /** Input of an expiry of all but the current snapshot, or of an orphan removal. */
  run(name: string, request: Readonly<Record<string, unknown>> = {}) {
    return { catalog: this.catalog, identifier: this.id(name), request, nowMs: Date.now() + 10 * DAY_MS }
  }
}

/** All files that a table reaches: through its snapshots and its statistics, and its metadata file. */
export async function reachableFrom(table: Table): Promise<ReadonlySet<string>> {
  const { metadata, metadataLocation } = table
  const found = new Set([metadataLocation])
  for (const { statisticsPath } of [...metadata.statistics, ...metadata.partitionStatistics]) found.add(statisticsPath)
  for (const snapshot of metadata.snapshots) {
    if (snapshot.manifestList !== undefined) found.add(snapshot.manifestList)
    for (const manifest of await loadManifests(table, snapshot)) {
      found.add(manifest.manifestPath)
      for (const entry of await loadEntries(table, manifest)) if (isLive(entry)) found.add(entry.dataFile.filePath)
    }
  }
  return found
}
