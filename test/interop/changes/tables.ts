import { expect } from 'vitest'
import { readChanges } from '../../engines/duckdb/changes/read-changes.ts'
import { ModelLake, type Random } from '../../maintenance/compaction/model-lake.ts'
import { writeRandomly } from '../../maintenance/compaction/random-writers.ts'
import type { Workshop } from '../../maintenance/real-lake.ts'
import type { Service } from '../harness/service.ts'
import type { ChangedRange, ChangedRow, ComparedTable } from './compare.ts'
import { type HistoryColumn, randomHistory } from './random-history.ts'

/** The answer of `GET /api/table/{table}/changes`. */
export interface ChangesAnswer {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
  readonly truncated: boolean
}

/** A table that is compared, and the statements that make it in Spark. */
export interface MadeTable extends ComparedTable {
  readonly statements: readonly string[]
}

/** The number of a table, and where its random choices come from. */
export interface Seeded {
  readonly seed: number
  readonly random: Random
}

/** A table that Spark writes; our changes come from the service. */
export function sparkTable(service: Service, { seed, random }: Seeded, mode: 'copy-on-write' | 'mixed'): MadeTable {
  const name = `lockhouse.s.t_${seed}`
  const options = { table: name, short: `s.t_${seed}`, catalog: 'lockhouse', random, mode }
  const { statements, columns, isUnique } = randomHistory({ ...options, formatVersion: random(2) === 0 ? 2 : 3 })
  return {
    name,
    statements,
    rowText: `concat_ws('|', ${columns.map((one) => `coalesce(${one.kind.text(one.name)}, 'NULL')`).join(', ')})`,
    oracle: mode === 'mixed' ? 'states' : 'views',
    isUnique,
    inViews: columns.some(({ kind }) => kind.type === 'BINARY') ? (row) => row : undefined,
    ours: (range) => serviceChanges(service, { short: options.short, columns }, range),
  }
}

/**
 * A table of our own writers, with many equal rows; Spark gets its metadata file. `deletes`: with position deletes, vectors, equality
 * deletes and rollbacks, otherwise files are replaced and rewritten.
 */
export async function lakeTable(
  shop: Workshop,
  { seed, random }: Seeded,
  kind: 'copy-on-write' | 'deletes',
): Promise<MadeTable> {
  const lake = await ModelLake.create(shop, { formatVersion: random(2) === 0 ? 2 : 3 })
  const partitionAt = random(9)
  await lake.append(random, 3 + random(6))
  for (let n = 0; n < 5 + random(4); n += 1) {
    if (n === partitionAt) await lake.partition()
    if (kind === 'deletes') await writeRandomly(lake, random)
    else await replaceRandomly(lake, random)
  }
  const table = await lake.load()
  const name = `lockhouse.s.l_${seed}`
  return {
    name,
    statements: [
      `CALL lockhouse.system.register_table(table => 's.l_${seed}', metadata_file => '${table.metadataLocation}')`,
    ],
    rowText:
      "concat_ws('|', coalesce(CAST(tag AS STRING), 'NULL'), coalesce(CAST(d AS STRING), 'NULL'), coalesce(CAST(n AS STRING), 'NULL'))",
    oracle: kind === 'deletes' ? 'states' : 'views',
    isUnique: false,
    inViews: (row) => row.replace('[-0.0]', '[0.0]'),
    ours: async ({ from, to }) => {
      const row =
        "concat_ws('|', coalesce(tag::VARCHAR, 'NULL'), coalesce(d::VARCHAR, 'NULL'), coalesce(n::VARCHAR, 'NULL'))"
      const changes = await readChanges(shop.engine, table, { from: BigInt(from), to: BigInt(to), row })
      return changes.map(({ row: text, type, ordinal, snapshotId }) => ({
        row: lakeText(text),
        type,
        ordinal: String(ordinal),
        snapshot: String(snapshotId),
      }))
    },
  }
}

async function replaceRandomly(lake: ModelLake, random: Random): Promise<void> {
  switch (random(6)) {
    case 0:
    case 1:
      return lake.append(random, 1 + random(4))
    case 2:
      return lake.overwrite(random)
    case 3:
      return random(2) === 0 ? lake.upgradeOnce() : lake.append(random, 2)
    default:
      return lake.rewriteRows(random)
  }
}

/** A row as Spark casts it to a text. */
function lakeText(row: string): string {
  const [tag = '', d = '', n = ''] = row.split('|')
  const nested = n === 'NULL' ? n : n.replace("{'x': ", '{').replace(", 'l': ", ', ').replaceAll('NULL', 'null')
  return `${tag}|${d === 'nan' ? 'NaN' : d}|${nested}`
}

async function serviceChanges(
  service: Service,
  { short, columns }: { readonly short: string; readonly columns: readonly HistoryColumn[] },
  { from, to, key }: ChangedRange,
): Promise<readonly ChangedRow[]> {
  const keys = key.length === 0 ? '' : `&key=${key.join(',')}`
  const answer = await service.read<ChangesAnswer>(
    `/api/table/${short}/changes?limit=1000&from_snapshot_id=${from}&to_snapshot_id=${to}${keys}`,
  )
  expect(answer.truncated).toBe(false)
  const at = new Map(answer.columns.map(({ name }, index) => [name, index]))
  const text = (row: readonly unknown[], name: string): string => {
    const index = at.get(name) ?? -1
    return sparkText(row[index], answer.columns[index]?.type)
  }
  return answer.rows.map((row) => ({
    row: columns.map(({ name }) => text(row, name)).join('|'),
    type: text(row, '_change_type'),
    ordinal: text(row, '_change_ordinal'),
    snapshot: text(row, '_commit_snapshot_id'),
  }))
}

/** A value of our answers as Spark casts it to a text; binary values as hexadecimal digits. */
export function sparkText(value: unknown, type = ''): string {
  if (value === null || value === undefined) return 'NULL'
  const text = String(value)
  if (/^(float|double)$/.test(type)) {
    if (Object.is(value, -0)) return '-0.0'
    return Number.isInteger(Number(text)) && !text.includes('.') ? `${text}.0` : text
  }
  if (type === 'binary') return text.replaceAll(/\\x(..)|(.)/g, (_, hex?: string, char = '') => hex ?? hexOf(char))
  const time = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d*?)0*)?(?:\+00:00|Z)?$/.exec(text)
  if (time !== null) return `${time[1]} ${time[2]}${time[3] === undefined || time[3] === '' ? '' : `.${time[3]}`}`
  return text
}

function hexOf(char: string): string {
  return char.charCodeAt(0).toString(16).toUpperCase()
}
