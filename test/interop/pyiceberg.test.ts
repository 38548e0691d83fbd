import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FilesAnswer, Health, RefsAnswer, SchemaAnswer, SnapshotsAnswer } from './harness/answers.ts'
import { snapshotLines } from './harness/answers.ts'
import { pyicebergAvailable, restServerAvailable } from './harness/environment.ts'
import { ObjectStore } from './harness/object-store.ts'
import { runPython } from './harness/python.ts'
import { RestServer } from './harness/rest-server.ts'
import { changedRow, sortedRows, type ColumnChange, type Rows } from './harness/rows.ts'
import { Service } from './harness/service.ts'
import { isWholeRun } from '../support/effort.ts'

interface PyFile {
  readonly content: number
  readonly file_path: string
  readonly file_format: string
  readonly spec_id: number
  readonly record_count: number
  readonly file_size_in_bytes: number
}

interface PyTable extends Rows {
  readonly schema: readonly {
    readonly id: number
    readonly name: string
    readonly type: string
    readonly required: boolean
  }[]
  readonly format_version: number
  readonly files: readonly PyFile[]
  readonly snapshots: readonly { readonly snapshot_id: string; readonly operation: string | null }[]
  readonly manifests: readonly { readonly path: string }[]
  readonly refs: Readonly<Record<string, { readonly snapshot_id: string; readonly type: string }>>
  readonly partitions: number
}

const added = { name: 'note', type: 'STRING', after: 'id', comment: 'added by the service' }
const common: ColumnChange = { add: added, rename: { name: 'name', newName: 'full name ✓' }, drop: 'v' }

/** Every table of `pyiceberg_tables.py` and the column changes made to it. */
const TABLES: Readonly<Record<string, ColumnChange>> = {
  small_appends: { ...common, drop: 'score' },
  by_region: common,
  by_bucket_and_truncate: common,
  by_day: common,
  by_hour: common,
  by_year_and_truncated_id: common,
  by_month: common,
  evolved_schema: {
    add: { name: 'point.w', type: 'decimal(20, 3)' },
    rename: { name: 'point.why', newName: 'y' },
    drop: 'attrs',
  },
  evolved_spec: common,
  every_type: {
    add: { name: 'late', type: 'list<timestamptz>' },
    rename: { name: 'string', newName: 'text' },
    drop: 'binary',
  },
  awkward_names: {
    add: { name: 'ta"ble', type: 'uuid', after: '9day' },
    rename: { name: 'we"ird.col', newName: 'new "name"' },
    drop: 'emoji 🦓',
  },
  copy_on_write: common,
  tagged: common,
  format_version_1: common,
  sorted: common,
}

const EVERYWHERE = ['small_appends', 'by_region', 'evolved_spec', 'tagged']
const LOCAL = 'on this machine'
const available = pyicebergAvailable('interop with PyIceberg')

const PLACES = [
  LOCAL,
  'in an object store',
  ...(restServerAvailable('tables that PyIceberg writes behind a REST server') ? ['behind a REST server'] : []),
]

describe.skipIf(!available).each(PLACES)('tables that PyIceberg writes %s', { timeout: 600_000 }, (place) => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-py-')) : ''
  let store: ObjectStore | undefined
  let rest: RestServer | undefined
  const catalog = {
    uri: `sqlite:///${folder}/catalog.db`,
    warehouse: `file://${folder}/warehouse`,
    name: 'lockhouse',
    properties: {},
  }
  /** Elsewhere, files and commits differ and tables do not: only a whole run tries all of them. */
  const names = place === LOCAL || isWholeRun ? Object.keys(TABLES) : EVERYWHERE
  const tables = names.map((name) => `py.${name}`)
  let service: Service
  let before: Record<string, PyTable>

  function dump(): Promise<Record<string, PyTable>> {
    return runPython('pyiceberg_rows.py', { ...catalog, tables })
  }

  function health(table: string): Promise<Health> {
    return service.read<Health>(`/api/table/${table}/health`)
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
    await runPython('pyiceberg_tables.py', { ...catalog, namespace: 'py', only: [...names, 'fixed_type'] })
    before = await dump()
    service = await Service.start({ home: `${folder}/home` })
    await service.configure({
      catalog_type: rest === undefined ? 'sql' : 'rest',
      uri: catalog.uri,
      warehouse: catalog.warehouse,
      catalog_name: catalog.name,
      extra_props: catalog.properties,
    })
  }, 600_000)

  afterAll(async () => {
    await service?.stop()
    await store?.stop()
    await rest?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('are all listed', async () => {
    const answer = await service.read<{ tables: { table: string }[] }>('/api/tables')
    expect(answer.tables.map((entry) => entry.table).sort()).toEqual([...tables, 'py.fixed_type'].sort())
  })

  it.each(tables)('%s has the same inspection results as in PyIceberg', async (name) => {
    const theirs = before[name]
    if (!theirs) throw new Error(`no dump of ${name}`)
    await expectSameInspection(service, name, theirs)
  })

  describe('after compaction', () => {
    let after: Record<string, PyTable>
    const rewritten: Record<string, number> = {}

    beforeAll(async () => {
      for (const table of tables) {
        const result = await service.operate('/api/compact', { table, min_input_files: 2 })
        rewritten[table] = Number(result.details['rewritten_data_files_count'])
      }
      after = await dump()
    }, 600_000)

    it.each(tables)('%s has the same rows in fewer files', async (name) => {
      const was = before[name]
      const is = after[name]
      if (!was || !is) throw new Error(`no dump of ${name}`)
      expect(is.count).toBe(was.count)
      expect(is.hash).toBe(was.hash)
      expect(is.files.length).toBeLessThan(was.files.length)
      expect(rewritten[name]).toBeGreaterThan(1)
      if (name !== 'py.evolved_spec') {
        expect(is.files).toHaveLength(new Set(is.files.map((file) => directoryOf(file.file_path))).size)
      }
      expect(is.schema).toEqual(was.schema)
      expect(is.format_version).toBe(was.format_version)
      await expectSameInspection(service, name, is)
    })

    it('moves the files of old partition specs to the current one', () => {
      expect(new Set(before['py.evolved_spec']?.files.map((file) => file.spec_id)).size).toBe(3)
      expect([...new Set(after['py.evolved_spec']?.files.map((file) => file.spec_id))]).toEqual([2])
    })
  })

  describe('after changes of columns', () => {
    let after: Record<string, PyTable>

    beforeAll(async () => {
      for (const name of names) await changeColumns(service, `py.${name}`, TABLES[name] as ColumnChange)
      after = await dump()
    }, 600_000)

    it.each(names)('%s has the same values under the new names', (name) => {
      const change = TABLES[name] as ColumnChange
      const expected = (before[`py.${name}`]?.rows ?? []).map((row) => changedRow(row, change))
      expect(sortedRows(after[`py.${name}`]?.rows ?? [])).toEqual(sortedRows(expected))
    })

    it.each(names)('%s shows the new schema', async (name) => {
      const theirs = after[`py.${name}`]
      if (!theirs) throw new Error(`no dump of ${name}`)
      const { columns } = await service.read<SchemaAnswer>(`/api/table/py.${name}/schema`)
      expectSameColumns(columns, theirs)
    })
  })

  describe('after expiry', () => {
    let after: Record<string, PyTable>
    let evolved: Record<string, PyTable>

    beforeAll(async () => {
      evolved = await dump()
      for (const table of tables) {
        const older_than = new Date().toISOString()
        const { details } = await service.operate('/api/expire', { table, older_than, retain_last: 1 })
        const entry = details['quarantine'] as { id: string } | null
        if (entry === null) continue
        const purged = await service.post(`/api/quarantine/${entry.id}/purge`, undefined)
        expect(purged.body, table).toMatchObject({ failed_deletions_count: 0, kept_files_count: 0 })
      }
      after = await dump()
    }, 600_000)

    it.each(tables)('%s has the same rows, one snapshot per reference, and no unneeded file', async (name) => {
      const is = after[name]
      if (!is) throw new Error(`no dump of ${name}`)
      expect(is.hash).toBe(evolved[name]?.hash)
      expect(Object.keys(is.refs).sort()).toEqual(Object.keys(before[name]?.refs ?? {}).sort())
      expect(is.snapshots).toHaveLength(new Set(Object.values(is.refs).map((ref) => ref.snapshot_id)).size)
      await expectSameInspection(service, name, is)
      if (name !== 'py.tagged') {
        const data = `/warehouse/${name.replace('.', '/')}/data`
        const kept = store ? await store.list(`s3://${store.bucket}${data}/`) : await dataFilesBelow(folder + data)
        expect(kept).toEqual(is.files.map((file) => file.file_path.replace(/^file:\/\//, '')).sort())
      }
    })

    it('a tag and a branch still show the same rows', async () => {
      const tagged = after['py.tagged']
      expect(Object.keys(tagged?.refs ?? {}).sort()).toEqual(['audit', 'main', 'release 1'])
      expect(tagged?.refs['release 1']).toEqual(before['py.tagged']?.refs['release 1'])
      const result = await runPython<Record<string, number>>('pyiceberg_refs.py', {
        ...catalog,
        table: 'py.tagged',
      })
      expect(result).toEqual({ audit: 120, main: 240, 'release 1': 80 })
    })
  })

  describe('when PyIceberg continues to write', () => {
    let written: Record<string, PyTable>
    let after: Record<string, PyTable>

    beforeAll(async () => {
      const repeats = tables.flatMap((table) => [3, 5, 7].map((repeat) => ({ table, repeat })))
      const deletes = [
        { table: 'py.by_region', delete: 'id > 5020' },
        { table: 'py.evolved_spec', delete: 'id < 10' },
        { table: 'py.small_appends', delete: 'id >= 100 and id < 130' },
      ]
      await runPython('pyiceberg_write.py', { ...catalog, steps: [...repeats, ...deletes] })
      written = await dump()
      for (const table of tables) await service.operate('/api/compact', { table, min_input_files: 2 })
      after = await dump()
    }, 600_000)

    it.each(tables)('%s can be compacted again', async (name) => {
      expect(written[name]?.hash).not.toBe(before[name]?.hash)
      expect(after[name]?.hash).toBe(written[name]?.hash)
      expect(after[name]?.files.length).toBeLessThan(written[name]?.files.length ?? 0)
      expect((await health(name)).record_count).toBe(after[name]?.count)
    })
  })

  it('a fixed-length column is kept or refused, never changed', async () => {
    const table = 'py.fixed_type'
    const read = () => runPython<Record<string, PyTable>>('pyiceberg_rows.py', { ...catalog, tables: [table] })
    const was = (await read())[table]
    const answer = await service.post('/api/compact', { table, min_input_files: 2 })
    const is = (await read())[table]
    expect(is?.hash).toBe(was?.hash)
    if (answer.status !== 200) {
      expect(answer.body).toMatchObject({ status: 422, code: 'UNSUPPORTED', success: false })
      expect(is?.files).toEqual(was?.files)
    }
  })
})

async function changeColumns(service: Service, table: string, change: ColumnChange): Promise<void> {
  await service.operate('/api/evolve/add-column', { table, ...change.add })
  const { name, newName } = change.rename
  await service.operate('/api/evolve/rename-column', { table, name, new_name: newName })
  await service.operate('/api/evolve/drop-column', { table, name: change.drop })
}

async function expectSameInspection(service: Service, name: string, theirs: PyTable): Promise<void> {
  const { columns } = await service.read<SchemaAnswer>(`/api/table/${name}/schema`)
  expectSameColumns(columns, theirs)

  const health = await service.read<Health>(`/api/table/${name}/health`)
  expect(health).toMatchObject({
    snapshot_count: theirs.snapshots.length,
    data_file_count: theirs.files.length,
    total_size_bytes: sum(theirs.files, (file) => file.file_size_in_bytes),
    record_count: theirs.count,
    manifest_count: theirs.manifests.length,
    delete_file_count: 0,
  })
  if (new Set(theirs.files.map((file) => file.spec_id)).size === 1) {
    expect(health.partition_count).toBe(theirs.partitions)
  }

  const { files } = await service.read<FilesAnswer>(`/api/table/${name}/files`)
  expect(files.map(fileLine).sort()).toEqual(theirs.files.map(fileLine).sort())

  const { snapshots } = await service.read<SnapshotsAnswer>(`/api/table/${name}/snapshots`)
  expect(snapshotLines(snapshots)).toEqual(snapshotLines(theirs.snapshots))

  const { refs } = await service.read<RefsAnswer>(`/api/table/${name}/refs`)
  expect(Object.fromEntries(refs.map((ref) => [ref.name, { snapshot_id: ref.snapshot_id, type: ref.type }]))).toEqual(
    theirs.refs,
  )
}

function fileLine(file: Omit<PyFile, 'content'>): string {
  const format = file.file_format.toLowerCase()
  return [file.file_path, format, file.spec_id, file.record_count, file.file_size_in_bytes].join(' ')
}

function expectSameColumns(columns: SchemaAnswer['columns'], theirs: PyTable): void {
  const topLevel = new Set(theirs.schema.map((field) => field.id))
  const ours = columns.filter((column) => topLevel.has(column.id))
  expect(ours.map((column) => [column.id, column.name, column.nullable])).toEqual(
    theirs.schema.map((field) => [field.id, field.name, !field.required]),
  )
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}

function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

async function dataFilesBelow(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}
