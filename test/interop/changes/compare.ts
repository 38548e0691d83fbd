import { bagDifference } from '../../engines/duckdb/changes/read-changes.ts'
import type { Random } from '../../maintenance/compaction/model-lake.ts'
import type { SparkSession } from '../harness/spark.ts'

/** A changed row: its values as one text, the kind of change, and the snapshot. */
export interface ChangedRow {
  readonly row: string
  readonly type: string
  readonly ordinal: string
  readonly snapshot: string
}

/** Snapshots whose changes are read, and the columns that identify a row. */
export interface ChangedRange {
  readonly from: string
  readonly to: string
  readonly key: readonly string[]
}

/** A table with a history, as the comparison needs it. */
export interface ComparedTable {
  /** Full name of the table in Spark's catalog `lockhouse`. */
  readonly name: string
  /** SQL of a row as one text, in Spark. */
  readonly rowText: string
  /** `views`: with `create_changelog_view`, which refuses delete files; `states`: with the rows that Spark reads before and after. */
  readonly oracle: 'views' | 'states'
  /** Whether `id` identifies rows. */
  readonly isUnique: boolean
  /** The text of a row with what Spark's views distinguish; undefined: they compare all values as they are. */
  readonly inViews?: ((row: string) => string) | undefined
  readonly ours: (range: ChangedRange) => Promise<readonly ChangedRow[]>
}

/** What a comparison found. */
export interface Comparison {
  readonly differences: readonly string[]
  /** Changed rows that were compared. */
  readonly rows: number
  /** Rows without a change that Spark's views show as changed. */
  readonly unchanged: number
}

/** A comparison that waits for the rows of Spark. */
interface Planned {
  readonly setup: readonly string[]
  /** SELECTs of `v` and the members of {@link ChangedRow}. */
  readonly selects: readonly string[]
  compare(rowsOf: (v: string) => readonly ChangedRow[]): Promise<Comparison>
}

/** Compares tables, with one query of Spark for all of them. */
export async function compareTables(
  spark: SparkSession,
  tables: readonly ComparedTable[],
  random: Random,
): Promise<readonly Comparison[]> {
  const lines = await snapshotLines(spark, tables)
  const planned = tables.map((table, at) => {
    const of = { table, line: lines[at] ?? [], at }
    return table.oracle === 'views' ? planViews(of, random) : planStates(of)
  })
  const query = planned.flatMap(({ selects }) => selects).join(' UNION ALL ')
  const answers = await spark.sql(...planned.flatMap(({ setup }) => setup), query)
  const rows = new Map<string, ChangedRow[]>()
  for (const { v, ...row } of (answers.at(-1)?.rows ?? []) as unknown as readonly (ChangedRow & { v: string })[]) {
    rows.set(v, [...(rows.get(v) ?? []), row])
  }
  const compared: Comparison[] = []
  // one after the other: a user may have few queries at once
  for (const one of planned) compared.push(await one.compare((v) => rows.get(v) ?? []))
  return compared
}

interface Line {
  readonly table: ComparedTable
  /** The ids of the snapshots of `main`, oldest first. */
  readonly line: readonly string[]
  readonly at: number
}

async function snapshotLines(
  spark: SparkSession,
  tables: readonly ComparedTable[],
): Promise<readonly (readonly string[])[]> {
  const parts = tables.flatMap(({ name }, at) => [
    `SELECT ${at} AS v, CAST(snapshot_id AS STRING) AS id, CAST(parent_id AS STRING) AS parent, FALSE AS last FROM ${name}.snapshots`,
    `SELECT ${at}, CAST(snapshot_id AS STRING), NULL, TRUE FROM ${name}.refs WHERE name = 'main'`,
  ])
  const [found] = await spark.sql(parts.join(' UNION ALL '))
  const rows = (found?.rows ?? []) as unknown as readonly { v: number; id: string; parent?: string; last: boolean }[]
  return tables.map((_, at) => {
    const own = rows.filter(({ v }) => v === at)
    const line: string[] = []
    let next = own.find(({ last }) => last)?.id
    while (next !== undefined) {
      line.unshift(next)
      const id = next
      next = own.find((row) => !row.last && row.id === id)?.parent
    }
    return line
  })
}

function planViews({ table, line, at }: Line, random: Random): Planned {
  const [first = '', last = ''] = [line[0], line.at(-1)]
  const start = random(line.length)
  const [from = first, to = last] = [line[start], line[start + random(line.length - start)]]
  const key = table.isUnique ? (random(3) === 0 ? ['id', 'part'] : ['id']) : []
  const whole = { from: first, to: last }
  const ranges = [
    { ...(random(2) === 0 ? whole : { from, to }), key: [], isNet: false },
    key.length > 0 ? { ...whole, key, isNet: false } : { ...whole, key, isNet: true },
  ].filter((range) => range.from !== range.to)
  const calls = ranges.map((range, index) => {
    const keys = `, identifier_columns => array(${key.map((name) => `'${name}'`).join(', ')}), compute_updates => true`
    return (
      `CALL lockhouse.system.create_changelog_view(table => '${table.name.replace('lockhouse.', '')}', ` +
      `changelog_view => 'changed_${at}_${index}', options => map('start-snapshot-id', '${range.from}', ` +
      `'end-snapshot-id', '${range.to}')${range.key.length === 0 ? '' : keys}${range.isNet ? ', net_changes => true' : ''})`
    )
  })
  const selects = ranges.map(
    (_, index) =>
      `SELECT 'view ${at} ${index}' AS v, ${table.rowText} AS row, lower(_change_type) AS type, ` +
      `CAST(_change_ordinal AS STRING) AS ordinal, CAST(_commit_snapshot_id AS STRING) AS snapshot FROM changed_${at}_${index}`,
  )
  const compare: Planned['compare'] = async (rowsOf) => {
    const found: Comparison[] = []
    for (const [index, range] of ranges.entries()) {
      const viewed = rowsOf(`view ${at} ${index}`)
      const expected = seenBy(table, viewed)
      const ours = seenBy(table, await table.ours(range))
      const [theirs, own] = range.isNet ? [netTexts(expected), netTexts(ours)] : [texts(expected), texts(ours)]
      found.push({
        differences: differencesOf(JSON.stringify(range), theirs, own),
        rows: viewed.length,
        unchanged: viewed.length - expected.length,
      })
    }
    return sumOf(found)
  }
  return { setup: calls, selects, compare }
}

/** Branches, unlike snapshots, are read with the present columns. */
function planStates({ table, line, at }: Line): Planned {
  const setup = line.map((id) => `ALTER TABLE ${table.name} CREATE BRANCH b${id} AS OF VERSION ${id}`)
  const selects = line.map(
    (id) =>
      `SELECT 'state ${at} ${id}' AS v, ${table.rowText} AS row, '' AS type, '' AS ordinal, '' AS snapshot FROM ${table.name}.branch_b${id}`,
  )
  const compare: Planned['compare'] = async (rowsOf) => {
    const state = (id = ''): readonly string[] => rowsOf(`state ${at} ${id}`).map(({ row }) => row)
    const expected = (before: string | undefined, after: string | undefined): readonly string[] =>
      bagDifference(state(before), state(after)).map(({ row, type }) => `${type} ${row}`)
    const whole = await table.ours({ from: line[0] ?? '', to: line.at(-1) ?? '', key: [] })
    const differences = differencesOf('all snapshots', expected(line[0], line.at(-1)), netTexts(whole))
    const steps = line.slice(1).flatMap((id, index) => {
      const own = whole.filter(({ snapshot }) => snapshot === id).map(({ row, type }) => `${type} ${row}`)
      return differencesOf(`snapshot ${id}`, expected(line[index], id), own)
    })
    return { differences: [...differences, ...steps], rows: whole.length, unchanged: 0 }
  }
  return { setup, selects, compare }
}

function differencesOf(what: string, spark: readonly string[], ours: readonly string[]): readonly string[] {
  return bagDifference(spark, ours).map(
    ({ row, type }) => `${what}: ${type === 'insert' ? 'only here' : 'only in Spark'} ${row}`,
  )
}

function sumOf(parts: readonly Comparison[]): Comparison {
  return {
    differences: parts.flatMap(({ differences }) => differences),
    rows: parts.reduce((sum, { rows }) => sum + rows, 0),
    unchanged: parts.reduce((sum, { unchanged }) => sum + unchanged, 0),
  }
}

/** What a row is after one that is shown as changed and has the same values. */
const OPPOSITE: Readonly<Record<string, string>> = {
  insert: 'delete',
  delete: 'insert',
  update_after: 'update_before',
  update_before: 'update_after',
}

/**
 * Changed rows without pairs that differ in one engine only: Spark compares binary values by the identity of their arrays, and elements
 * of lists without the sign of a zero.
 */
function seenBy({ inViews }: ComparedTable, rows: readonly ChangedRow[]): readonly ChangedRow[] {
  return inViews === undefined
    ? rows
    : withoutUnchanged(rows.map((change) => ({ ...change, row: inViews(change.row) })))
}

function withoutUnchanged(rows: readonly ChangedRow[]): readonly ChangedRow[] {
  const left = new Map<string, ChangedRow[]>()
  for (const row of rows) {
    const partners = left.get(`${OPPOSITE[row.type]} ${row.ordinal} ${row.row}`)
    if (partners !== undefined && partners.length > 0) partners.pop()
    else {
      const key = `${row.type} ${row.ordinal} ${row.row}`
      left.set(key, [...(left.get(key) ?? []), row])
    }
  }
  return [...left.values()].flat()
}

function texts(rows: readonly ChangedRow[]): readonly string[] {
  return rows.map(({ row, type, ordinal, snapshot }) => `${type} ${ordinal} ${snapshot} ${row}`)
}

/** What changed between the ends. */
function netTexts(rows: readonly ChangedRow[]): readonly string[] {
  const side = (kinds: readonly string[]): string[] =>
    rows.filter(({ type }) => kinds.includes(type)).map(({ row }) => row)
  const net = bagDifference(side(['delete', 'update_before']), side(['insert', 'update_after']))
  return net.map(({ row, type }) => `${type} ${row}`)
}
