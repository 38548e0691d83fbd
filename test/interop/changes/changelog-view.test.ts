import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bagDifference } from '../../engines/duckdb/changes/read-changes.ts'
import { createRandom } from '../../maintenance/compaction/random-writers.ts'
import { isWholeRun } from '../../support/effort.ts'
import { SPARK35_JAR, SPARK35_PYTHON, sparkAvailable, SQLITE_JDBC_JAR } from '../harness/environment.ts'
import { Service } from '../harness/service.ts'
import { SparkSession } from '../harness/spark.ts'
import { type ChangesAnswer, sparkText } from './tables.ts'

const available = sparkAvailable('changes') && Boolean(SQLITE_JDBC_JAR)

interface SparkSnapshot {
  readonly snapshot_id: string
  readonly parent_id: string
  readonly operation: string
}

const MARKS = ['_change_type', '_change_ordinal', '_commit_snapshot_id']

const old = SPARK35_PYTHON && SPARK35_JAR ? { python: SPARK35_PYTHON, jar: SPARK35_JAR } : undefined
// Only a whole run asks Spark 3.5 too, which answered as Spark 4 each time.
const others = old !== undefined && isWholeRun ? [{ spark: '3.5', version: old }] : []
const versions = [{ spark: '4', version: undefined }, ...others]

describe.skipIf(!available).each(versions)('changes that Spark $spark made', { timeout: 900_000 }, ({ version }) => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-changes-')) : ''
  let spark: SparkSession
  let service: Service

  beforeAll(async () => {
    mkdirSync(`${folder}/warehouse`)
    const sqlCatalog = { path: `${folder}/catalog.db`, warehouse: `file://${folder}/warehouse` }
    spark = await SparkSession.start({
      scratch: folder,
      warehouse: `file://${folder}/hadoop`,
      sqlCatalog,
      ...(version === undefined ? {} : { version }),
    })
    await spark.sql('CREATE NAMESPACE lockhouse.s')
    service = await Service.start({ home: `${folder}/home` })
    await service.configure({
      catalog_type: 'sql',
      uri: `sqlite:///${folder}/catalog.db`,
      warehouse: sqlCatalog.warehouse,
      catalog_name: 'lockhouse',
    })
  }, 600_000)
  afterAll(async () => {
    await service?.stop()
    await spark?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Rows of a query as sorted texts; Spark's own words for values. */
  const sparkRows = async (query: string, columns: readonly string[]): Promise<string[]> => {
    const list = columns.map((column) => `coalesce(CAST(\`${column}\` AS STRING), 'NULL') AS \`${column}\``)
    const [found] = await spark.sql(`SELECT ${list.join(', ')} FROM (${query})`)
    return (found?.rows ?? []).map((row) => JSON.stringify(columns.map((column) => row[column]))).sort()
  }

  const snapshotsOf = async (table: string): Promise<readonly SparkSnapshot[]> => {
    const [found] = await spark.sql(
      `SELECT CAST(snapshot_id AS STRING) AS snapshot_id, coalesce(CAST(parent_id AS STRING), '') AS parent_id, operation
       FROM lockhouse.s.${table}.snapshots ORDER BY committed_at`,
    )
    return (found?.rows ?? []) as unknown as readonly SparkSnapshot[]
  }

  const ours = async (table: string, query: string): Promise<ChangesAnswer> => {
    const answer = await service.read<ChangesAnswer>(`/api/table/s.${table}/changes?limit=1000&${query}`)
    expect(answer.truncated).toBe(false)
    return answer
  }

  /** The same texts as {@link sparkRows}: only the words for some values differ. */
  const texts = ({ columns, rows }: ChangesAnswer, names: readonly string[]): string[] => {
    const at = names.map((name) => columns.findIndex((column) => column.name === name))
    return rows.map((row) => JSON.stringify(at.map((index) => sparkText(row[index], columns[index]?.type)))).sort()
  }

  const inSpark = async (table: string, range: Range, columns: readonly string[]): Promise<string[]> => {
    const key = range.key === undefined ? '' : `, identifier_columns => array('${range.key}')`
    const updates = range.key === undefined ? '' : ', compute_updates => true'
    await spark.sql(
      `CALL lockhouse.system.create_changelog_view(table => 's.${table}', changelog_view => 'changed',
        options => map('start-snapshot-id', '${range.from}', 'end-snapshot-id', '${range.to}')${key}${updates})`,
    )
    return (await sparkRows('SELECT * FROM changed', columns)).map((text) =>
      text.replace(/"(INSERT|DELETE|UPDATE_BEFORE|UPDATE_AFTER)"/, (kind) => kind.toLowerCase()),
    )
  }

  it.each(
    isWholeRun
      ? [
          [2, 1],
          [3, 3],
        ]
      : [[2, 1]],
  )('are the rows of create_changelog_view for copy-on-write tables of version %i, seed %i', async (format, seed) => {
    const table = `cow_${format}_${seed}`
    const columns = await randomHistory({ spark, table, format, seed, mode: 'copy-on-write' })
    const line = await snapshotsOf(table)
    const [first, last] = [line[0]?.snapshot_id ?? '', line.at(-1)?.snapshot_id ?? '']
    const middle = line[Math.floor(line.length / 2)]?.snapshot_id ?? ''
    let kinds = ''
    for (const range of [
      { from: first, to: last },
      { from: middle, to: last },
      { from: first, to: middle, key: 'id' },
      { from: first, to: last, key: 'id' },
    ]) {
      const names = [...columns, ...MARKS]
      const expected = await inSpark(table, range, names)
      const key = range.key === undefined ? '' : `&key=${range.key}`
      const found = await ours(table, `from_snapshot_id=${range.from}&to_snapshot_id=${range.to}${key}`)
      expect(texts(found, names), JSON.stringify(range)).toEqual(expected)
      kinds += expected.join('')
    }
    expect(line.map(({ operation }) => operation)).toContain('replace')
    for (const kind of ['insert', 'delete', 'update_before', 'update_after']) expect(kinds).toContain(`"${kind}"`)
  })

  it.each(isWholeRun ? [2, 3] : [3])(
    'are how the rows of merge-on-read tables of version %i differ, which create_changelog_view refuses',
    async (format) => {
      const table = `mor_${format}`
      const columns = await randomHistory({ spark, table, format, seed: 7 + format, mode: 'merge-on-read' })
      const line = await snapshotsOf(table)
      const [first, last] = [line[0]?.snapshot_id ?? '', line.at(-1)?.snapshot_id ?? '']
      await expect(inSpark(table, { from: first, to: last }, columns)).rejects.toThrow(/[Dd]elete files/)
      for (const { snapshot_id: id, parent_id: parent, operation } of line.slice(1)) {
        if (operation === 'replace') continue
        const at = (snapshot: string) =>
          `SELECT ${columns.join(', ')} FROM lockhouse.s.${table} VERSION AS OF ${snapshot}`
        const found = await ours(table, `from_snapshot_id=${parent}&to_snapshot_id=${id}`)
        const difference = [
          ...(await sparkRows(`SELECT *, 'insert' AS kind FROM ((${at(id)}) EXCEPT ALL (${at(parent)}))`, [
            ...columns,
            'kind',
          ])),
          ...(await sparkRows(`SELECT *, 'delete' AS kind FROM ((${at(parent)}) EXCEPT ALL (${at(id)}))`, [
            ...columns,
            'kind',
          ])),
        ]
        expect(texts(found, [...columns, '_change_type']), `${operation} ${id}`).toEqual(difference.sort())
      }
      if (format === 3) {
        // INSERT OVERWRITE writes rows with new ids, so rows with equal values are then not the same row
        const plain = await ours(table, `from_snapshot_id=${first}&to_snapshot_id=${last}`)
        const byId = await ours(table, `by_row_id=true&from_snapshot_id=${first}&to_snapshot_id=${last}`)
        expect(netOf(byId, columns)).toEqual(netOf(plain, columns))
        expect(texts(byId, ['_change_type'])).toContain('["update_after"]')
      }
    },
  )
})

/** Which rows each snapshot adds more often than it removes them, or the other way round. */
function netOf({ columns, rows }: ChangesAnswer, names: readonly string[]): readonly string[] {
  const at = [...names, '_change_ordinal'].map((name) => columns.findIndex((column) => column.name === name))
  const typeAt = columns.findIndex(({ name }) => name === '_change_type')
  const textsOf = (kinds: readonly string[]): string[] =>
    rows
      .filter((row) => kinds.includes(String(row[typeAt])))
      .map((row) => JSON.stringify(at.map((index) => row[index])))
  return bagDifference(textsOf(['delete', 'update_before']), textsOf(['insert', 'update_after']))
    .map(({ row, type }) => `${type} ${row}`)
    .toSorted()
}

interface Range {
  readonly from: string
  readonly to: string
  readonly key?: string
}

interface History {
  readonly spark: SparkSession
  readonly table: string
  readonly format: number
  readonly seed: number
  readonly mode: 'copy-on-write' | 'merge-on-read'
}

/** A table with a unique `id` and a random history of every kind of statement; returns its columns at the end. */
async function randomHistory({ spark, table: short, format, seed, mode }: History): Promise<readonly string[]> {
  const table = `lockhouse.s.${short}`
  const random = createRandom(seed)
  const modes = ['delete', 'update', 'merge'].map((kind) => `'write.${kind}.mode'='${mode}'`).join(', ')
  let next = 0
  let name = 'name'
  let extra: string | undefined
  const values = (ids: readonly number[]): string => {
    const more = extra === undefined ? '' : `, CAST(id * 1.5 AS DOUBLE) AS ${extra}`
    const [low, high] = [Math.min(...ids), Math.max(...ids) + 1]
    return (
      `SELECT id, CAST(id % 3 AS INT) AS part, IF(id % 5 = 0, NULL, concat('n', id)) AS ${name}, ` +
      `IF(id % 4 = 0, CAST('NaN' AS FLOAT), CAST(id AS FLOAT) / 2) AS f, CAST(id AS DECIMAL(20, 4)) AS amount, ` +
      `timestamp_micros(id * 1000001) AS at, DATE_FROM_UNIX_DATE(CAST(id AS INT)) AS day${more} FROM range(${low}, ${high})`
    )
  }
  const insert = (): string => {
    const ids = Array.from({ length: 4 + random(8) }, () => next++)
    return `INSERT INTO ${table} ${values(ids)}`
  }
  const evolutions = [
    () => [`ALTER TABLE ${table} ADD COLUMN extra DOUBLE`, () => (extra = 'extra')] as const,
    () => [`ALTER TABLE ${table} RENAME COLUMN name TO label`, () => (name = 'label')] as const,
    () => [`ALTER TABLE ${table} ALTER COLUMN f TYPE DOUBLE`, () => undefined] as const,
    () => [`ALTER TABLE ${table} ADD PARTITION FIELD bucket(2, id)`, () => undefined] as const,
    () => [`ALTER TABLE ${table} DROP PARTITION FIELD part`, () => undefined] as const,
  ]
  await spark.sql(
    `CREATE TABLE ${table} (id BIGINT, part INT, name STRING, f FLOAT, amount DECIMAL(20, 4), at TIMESTAMP, day DATE)
     USING iceberg PARTITIONED BY (part) TBLPROPERTIES ('format-version'='${format}', ${modes})`,
    insert(),
    insert(),
  )
  for (let step = 0; step < 10; step += 1) {
    const some = `id % ${2 + random(4)} = ${random(2)}`
    // without changes of columns: Spark reads an old snapshot with its own ones
    const evolution = mode === 'copy-on-write' && step % 2 === 1 ? evolutions.shift()?.() : undefined
    if (evolution !== undefined) {
      await spark.sql(evolution[0])
      evolution[1]()
    }
    const statements = [
      insert,
      () => `DELETE FROM ${table} WHERE ${some}`,
      () => `UPDATE ${table} SET amount = amount + 1 WHERE ${some}`,
      () => `UPDATE ${table} SET part = part + 1, ${name} = NULL WHERE ${some}`,
      () =>
        `MERGE INTO ${table} t USING (${values([random(next), next + 2])}) s ON t.id = s.id ` +
        `WHEN MATCHED AND ${some.replace('id', 's.id')} THEN DELETE WHEN MATCHED THEN UPDATE SET amount = t.amount * 2 ` +
        `WHEN NOT MATCHED THEN INSERT *`,
      () => `CALL lockhouse.system.rewrite_data_files(table => 's.${short}', options => map('rewrite-all', 'true'))`,
      () => `INSERT OVERWRITE ${table} ${values([random(next), next])}`,
    ]
    const at = step < statements.length ? step : random(statements.length)
    await spark.sql(statements[at]?.() ?? insert())
    next += 4
  }
  return ['id', 'part', name, 'f', 'amount', 'at', 'day', ...(extra === undefined ? [] : [extra])]
}
