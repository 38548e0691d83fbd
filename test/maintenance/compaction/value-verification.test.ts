import { LONG, shares } from '../../support/effort.ts'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { createMemoryCatalog } from '../../../src/catalog/memory/catalog.ts'
import { createDuckDbEngine } from '../../../src/engines/duckdb/duckdb-engine.ts'
import { fieldIdsOption } from '../../../src/engines/duckdb/session/field-ids-option.ts'
import { LAST_UPDATED, ROW_ID } from '../../../src/iceberg/schema/lineage-columns.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { newDataLocation } from '../../../src/iceberg/metadata/locations.ts'
import { currentSchema, currentSpec } from '../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { runEvolve } from '../../../src/maintenance/evolve.ts'
import { field, list, map, schemaOf, struct } from '../../engines/duckdb/harness/lake.ts'
import { TABLE } from '../memory-table.ts'

const SCHEMA = schemaOf([
  field(1, 'id', 'int'),
  field(2, 'a', 'long'),
  field(3, 'b', 'long'),
  field(4, 'text', 'string'),
  field(5, 'f', 'float'),
  field(6, 'd', 'double'),
  field(7, 'price', 'decimal(12,2)'),
  field(8, 'wide', 'decimal(38,4)'),
  field(9, 'flag', 'boolean'),
  field(10, 'ts', 'timestamp'),
  field(11, 'tsz', 'timestamptz'),
  field(12, 'ns', 'timestamp_ns'),
  field(13, 'day', 'date'),
  field(14, 'at', 'time'),
  field(15, 'u', 'uuid'),
  field(16, 'bin', 'binary'),
  field(
    17,
    's',
    struct(field(23, 'x', 'int'), field(24, 'y', 'double'), field(25, 'deep', struct(field(26, 'z', 'int')))),
  ),
  field(18, 'nums', list(27, 'double')),
  field(19, 'ints', list(28, 'int')),
  field(20, 'lists', list(29, list(30, 'int'))),
  field(21, 'm', map(31, 'string', 32, 'double')),
  field(22, 'structs', list(33, struct(field(34, 'k', 'string'), field(35, 'v', 'float')))),
])

/** Ten rows of each file; `i` numbers all rows. */
function rows(file: number): string {
  return `SELECT i::INTEGER AS c1, (i * 10)::BIGINT AS c2, (i * 10 + 5)::BIGINT AS c3, 'text ' || i AS c4,
    (i / 2)::FLOAT AS c5, (i / 3)::DOUBLE AS c6, (i / 7)::DECIMAL(12,2) AS c7, (i / 11)::DECIMAL(38,4) AS c8, i % 2 = 0 AS c9,
    TIMESTAMP '2026-01-01' + INTERVAL (i) HOUR AS c10, TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (i) HOUR AS c11,
    make_timestamp_ns(1700000000000000000 + i) AS c12, DATE '2026-01-01' + i::INTEGER AS c13, TIME '00:00:00' + INTERVAL (i) SECOND AS c14,
    CAST(md5(i::VARCHAR) AS UUID) AS c15, encode('bin' || i) AS c16, {x: i::INTEGER, y: 0.0::DOUBLE, deep: {z: NULL::INTEGER}} AS c17,
    [i, 0.0]::DOUBLE[] AS c18, []::INTEGER[] AS c19, [[i::INTEGER], []]::INTEGER[][] AS c20,
    MAP {'k' || i: 0.0::DOUBLE} AS c21, [{k: 'a', v: 0.0::FLOAT}, {k: NULL, v: NULL}] AS c22
    FROM range(${file * 10}, ${file * 10 + 10}) r(i)`
}

/** Changes each data file after it was moved into place, like a failing disk or a faulty writer. */
class TamperingIO extends LocalFileIO {
  tamper: ((path: string) => Promise<void>) | undefined

  override async moveIn(localPath: string, location: string): Promise<void> {
    await super.moveIn(localPath, location)
    await this.tamper?.(location.replace(/^file:(\/\/)?/, ''))
  }
}

let folder: string
let engine: Engine
let duck: DuckDBInstance
let tables = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockhouse-values-'))
  engine = await createDuckDbEngine({ scratchDir: join(folder, 'scratch'), threads: 2 })
  duck = await DuckDBInstance.create(':memory:', { threads: '1' })
})
afterAll(async () => {
  await engine.close()
  duck.closeSync()
  rmSync(folder, { recursive: true, force: true })
})

async function sql(text: string): Promise<readonly unknown[]> {
  const connection = await duck.connect()
  try {
    await connection.run("SET TimeZone = 'UTC'")
    return (await connection.runAndReadAll(text)).getRowObjectsJson()
  } finally {
    connection.closeSync()
  }
}

/** A table of five files, and the FileIO that can alter what is written to it from then on. */
class Fixture {
  readonly io: TamperingIO
  readonly catalog: Catalog

  private constructor() {
    tables += 1
    const warehouse = join(folder, `lake-${tables}`)
    this.io = new TamperingIO({ roots: [warehouse] })
    this.catalog = createMemoryCatalog({ name: 'test', warehouse, io: this.io })
  }

  static async create(
    schema: Schema,
    query: (file: number) => string,
    options: { formatVersion?: 2 | 3; properties?: Record<string, string> } = {},
  ): Promise<Fixture> {
    const { formatVersion = 3, properties = {} } = options
    const fixture = new Fixture()
    await fixture.catalog.createNamespace(TABLE.namespace)
    await fixture.catalog.createTable(TABLE, { schema, formatVersion, properties })
    for (let file = 0; file < 5; file += 1) await fixture.#append(query(file), file)
    return fixture
  }

  async #append(query: string, index: number): Promise<void> {
    const { metadata, io } = await this.catalog.loadTable(TABLE)
    const files = await engine.append({
      io,
      query,
      output: {
        schema: currentSchema(metadata),
        partitionSpec: currentSpec(metadata),
        formatVersion: metadata.formatVersion,
        targetFileSizeBytes: 1 << 29,
        properties: metadata.properties,
        newDataLocation: (_, at) => newDataLocation(metadata, '', `in-${index}-${at}.parquet`),
      },
    })
    await commitTable(this.catalog, TABLE, (table) => stageAppend(table, { files, operationId: 'writer' }))
  }

  /** From now on, replaces written files by the result of `select`; `t` are their rows. */
  rewriteAs(select: string): void {
    this.io.tamper = async (path) => {
      const { metadata } = await this.catalog.loadTable(TABLE)
      const lineage = metadata.formatVersion === 3 ? [ROW_ID, LAST_UPDATED] : []
      const ids = fieldIdsOption([...currentSchema(metadata).fields, ...lineage])
      await sql(`COPY (${select.replace('FROM t', `FROM read_parquet('${path}') AS t`)}) TO '${path}.tampered'
        (FORMAT parquet, FIELD_IDS ${ids}, DICTIONARY_SIZE_LIMIT 0)`)
      renameSync(`${path}.tampered`, path)
    }
  }

  compact(request: Record<string, unknown> = {}) {
    tables += 1
    return runCompaction({ catalog: this.catalog, engine, identifier: TABLE, request, operationId: `op-${tables}` })
  }

  async rows(): Promise<unknown[]> {
    const { metadata, io } = await this.catalog.loadTable(TABLE)
    const inputs = await planFiles(await this.catalog.loadTable(TABLE))
    const read = engine.readRows({ io, metadata, schema: currentSchema(metadata), inputs })
    return (await collect(read)).toSorted((a, b) => Number(a['id']) - Number(b['id']))
  }

  async files(): Promise<string[]> {
    const { metadata } = await this.catalog.loadTable(TABLE)
    const found = await collect(this.io.list(metadata.location))
    return found.map(({ location }) => location).toSorted()
  }

  /** Adds a column that the files do not have. */
  async addColumn(name: string): Promise<void> {
    const change = { kind: 'add_column', name, type: 'int' } as const
    await runEvolve({ catalog: this.catalog, identifier: TABLE, change })
  }

  /** Runs a compaction that must be refused and returns its message. Nothing may have changed afterwards. */
  async refused(request: Record<string, unknown> = {}): Promise<string> {
    const { metadataLocation } = await this.catalog.loadTable(TABLE)
    const before = { rows: await this.rows(), files: await this.files() }
    const error = await failureOf(this.compact(request))
    expect(error).toMatchObject({ code: 'ROWS_NOT_CONSERVED' })
    expect((await this.catalog.loadTable(TABLE)).metadataLocation).toBe(metadataLocation)
    expect(await this.files()).toEqual(before.files)
    expect(await this.rows()).toEqual(before.rows)
    return (error as Error).message
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** The error that a promise rejects with. */
async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

const at = (id: number, value: string, other: string): string => `CASE WHEN id = ${id} THEN ${value} ELSE ${other} END`
const replace = (column: string, id: number, value: string): string =>
  `SELECT * REPLACE (${at(id, value, column)} AS ${column}) FROM t`

/** What a rewrite might do to a value, as the query that does it, and what the refusal names. */
const OTHER_VALUES: readonly (readonly [what: string, select: string, said: string])[] = [
  ['a changed text', replace('text', 7, "'text 8'"), 'column text'],
  ['a changed long', replace('a', 0, '1::BIGINT'), 'column a'],
  ['NULL for a default', replace('a', 0, 'NULL::BIGINT'), 'column a'],
  ['NULL for an empty list', replace('ints', 3, 'NULL::INTEGER[]'), 'column ints'],
  ['a list of NULL for an empty list', replace('ints', 3, '[NULL]::INTEGER[]'), 'column ints'],
  ['an empty text for NULL and back', replace('text', 7, "''"), 'column text'],
  ['a flag', replace('flag', 7, 'NOT flag'), 'column flag'],
  ['-0.0 for 0.0 in a float', replace('f', 0, "'-0.0'::FLOAT"), 'column f'],
  ['-0.0 for 0.0 in a double', replace('d', 0, "'-0.0'::DOUBLE"), 'column d'],
  ['NaN for a double', replace('d', 0, "'nan'::DOUBLE"), 'column d'],
  ['a decimal', replace('price', 9, '1.30::DECIMAL(12,2)'), 'column price'],
  ['a wide decimal', replace('wide', 9, 'wide + 0.0001'), 'column wide'],
  ['a microsecond', replace('ts', 9, 'ts + INTERVAL 1 MICROSECOND'), 'column ts'],
  ['a microsecond with a zone', replace('tsz', 9, 'tsz + INTERVAL 1 MICROSECOND'), 'column tsz'],
  ['a nanosecond', replace('ns', 9, 'make_timestamp_ns(epoch_ns(ns) + 1)'), 'column ns'],
  ['a day', replace('day', 9, 'day + 1'), 'column day'],
  ['a time', replace('at', 9, "TIME '00:00:08'").replaceAll(' at', ' "at"'), 'column at'],
  ['a uuid', replace('u', 9, "'00000000-0000-0000-0000-000000000000'::UUID"), 'column u'],
  ['bytes', replace('bin', 9, "'\\x00'::BLOB"), 'column bin'],
  ['-0.0 in a struct', replace('s', 9, "{x: s.x, y: '-0.0'::DOUBLE, deep: s.deep}"), 'column s'],
  ['a member of a struct', replace('s', 9, '{x: 8, y: s.y, deep: s.deep}'), 'column s'],
  ['NULL for a struct of NULLs', replace('s', 9, '{x: s.x, y: s.y, deep: NULL::STRUCT(z INTEGER)}'), 'column s'],
  ['-0.0 in a list', replace('nums', 9, "[nums[1], '-0.0'::DOUBLE]"), 'column nums'],
  ['the order of a list', replace('nums', 9, '[nums[2], nums[1]]'), 'column nums'],
  ['an element of a nested list', replace('lists', 9, '[[], lists[1]]'), 'column lists'],
  ['NULL in a nested list', replace('lists', 9, '[lists[1], NULL]'), 'column lists'],
  ['-0.0 in a map', replace('m', 9, "MAP {'k9': '-0.0'::DOUBLE}"), 'column m'],
  ['a key of a map', replace('m', 9, "MAP {'k8': 0.0::DOUBLE}"), 'column m'],
  ['an empty map for NULL', replace('m', 9, 'MAP {}::MAP(VARCHAR, DOUBLE)'), 'column m'],
  ['a struct in a list', replace('structs', 9, "[{k: 'a', v: 0.0::FLOAT}, NULL]"), 'column structs'],
  ['-0.0 of a struct in a list', replace('structs', 9, "[{k: 'a', v: '-0.0'::FLOAT}, structs[2]]"), 'column structs'],
  ['a row id', replace('_row_id', 9, '_row_id + 100'), 'column _row_id'],
  ['a NULL row id', replace('_row_id', 9, 'NULL::BIGINT'), 'column _row_id'],
  [
    'a sequence number',
    replace('_last_updated_sequence_number', 9, '1000::BIGINT'),
    'column _last_updated_sequence_number',
  ],
  [
    'two swapped values of different columns and rows',
    `SELECT * REPLACE (${at(1, '25::BIGINT', 'a')} AS a, ${at(2, '10::BIGINT', 'b')} AS b) FROM t`,
    'columns a, b',
  ],
  [
    'a value that moved to another row',
    `SELECT * REPLACE (CASE id WHEN 1 THEN 'text 2' WHEN 2 THEN 'text 1' ELSE text END AS text) FROM t`,
    'values moved from one row to another',
  ],
  [
    'a column in a different row order',
    'SELECT * REPLACE (49 - id AS id) FROM t',
    'values moved from one row to another',
  ],
]

describe('a compaction whose new files have other values', () => {
  let table: Fixture
  beforeAll(async () => {
    table = await Fixture.create(SCHEMA, rows)
  })

  for (const [cases, options] of shares(OTHER_VALUES, 6)) {
    it.each(cases)('is refused: %s', options, async (_, select, said) => {
      table.rewriteAs(select)
      expect(await table.refused()).toContain(said)
    })
  }

  it('is refused when a pair of equal rows was replaced by another pair', LONG, async () => {
    const pairs = await Fixture.create(schemaOf([field(1, 'n', 'int')]), () => 'SELECT 1::INTEGER AS c1', {
      formatVersion: 2,
    })
    // six of these cancel each other out in a bit sum
    pairs.rewriteAs('SELECT * REPLACE (CASE WHEN row_number() OVER () <= 2 THEN 9 ELSE n END::INTEGER AS n) FROM t')
    expect(await pairs.refused()).toContain('column n')
  })

  it('is refused with partial progress too, as a failure of its group', LONG, async () => {
    table.rewriteAs(replace('text', 7, "'text 8'"))
    const before = await table.files()
    const details = await table.compact({ partial_progress: true })
    expect(details).toMatchObject({ rewritten_data_files_count: 0, failed_data_files_count: 5, snapshot_id: null })
    expect(details.failures[0]?.reason).toContain('column text')
    expect(await table.files()).toEqual(before)
  })

  it('is refused when the schema has evolved', async () => {
    const evolved = await Fixture.create(schemaOf([field(1, 'id', 'int')]), (file) => `SELECT ${file}::INTEGER AS c1`)
    await evolved.addColumn('added')
    evolved.rewriteAs(replace('added', 3, '0'))
    expect(await evolved.refused()).toContain('column added')
  })
})

describe('bytes changed on disk without a change of size', () => {
  const schema = schemaOf([field(1, 'id', 'int'), field(2, 'text', 'string')])
  const properties = { 'write.parquet.compression-codec': 'uncompressed' }
  const plain = () =>
    Fixture.create(schema, (file) => `SELECT ${file}::INTEGER AS c1, 'value number ${file}' AS c2`, { properties })
  const flip = async (path: string): Promise<void> => {
    const bytes = readFileSync(path)
    const found = bytes.indexOf('value number 3')
    // only in the page: the footer also has the largest value
    bytes[found + 13] = '1'.charCodeAt(0)
    writeFileSync(path, bytes)
  }

  it('are detected by default, and nothing is committed', async () => {
    const table = await plain()
    table.io.tamper = flip
    expect(await table.refused()).toContain('column text')
    expect(await table.refused({ verify: 'values' })).toContain('column text')
  })

  it('are not detected by counting', async () => {
    const table = await plain()
    table.io.tamper = flip
    const details = await table.compact({ verify: 'counts' })
    expect(details).toMatchObject({ verified: 'counts', verified_columns: [], verify_ms: 0, rows_written: 5 })
  })
})

describe('a compaction that keeps all values', () => {
  it('reports what was compared', async () => {
    const table = await Fixture.create(SCHEMA, rows)
    const before = await table.rows()
    const details = await table.compact()
    const names = [...SCHEMA.fields.map(({ name }) => name), '_row_id', '_last_updated_sequence_number']
    expect(details).toMatchObject({ verified: 'values', verified_columns: names, rewritten_data_files_count: 5 })
    expect(details.verify_ms).toBeGreaterThan(0)
    expect(await table.rows()).toEqual(before)
  })

  it('refuses an unknown verification mode', async () => {
    const table = await Fixture.create(schemaOf([field(1, 'id', 'int')]), () => 'SELECT 1::INTEGER AS c1')
    expect(await failureOf(table.compact({ verify: 'value' }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'verify must be "values" or "counts"',
    })
  })
})
