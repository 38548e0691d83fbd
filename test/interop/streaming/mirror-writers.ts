import type { PyIceberg } from '../harness/pyiceberg.ts'
import type { SparkSession } from '../harness/spark.ts'

/** Rows with an id below this one are updated, and never deleted. */
export const KEPT_IDS = 20
/** Each writer inserts only ids of its own, because an append is never checked against the inserts of others. */
const FIRST_ID_OF_PYICEBERG = 1_000_000
/** Moves a key out of the way of all others. */
const KEY_STEP = 1_000_000_000
const ROWS = 20

/** What other writers of a table see when they lose a race, or when files that they read expire. */
const CONFLICT =
  /missing data files|ValidationException|ValidationError|CommitFailed|CommitStateUnknown|concurrent|conflict|NotFound|not exist|No such file|Cannot open|SQLITE_BUSY|database is locked/i

/** How often a writer committed, and how often it lost a race. */
export interface WriterCounts {
  commits: number
  conflicts: number
}

/** A number below a limit. */
export type Random = (limit: number) => number

/** Tries one change after the other while `goesOn`; a lost race is counted. */
export async function writeOn(
  change: (turn: number) => Promise<unknown>,
  goesOn: (counts: WriterCounts) => boolean,
): Promise<WriterCounts> {
  const counts = { commits: 0, conflicts: 0 }
  for (let turn = 1; goesOn(counts); turn += 1) {
    try {
      await change(turn)
      counts.commits += 1
    } catch (error) {
      if (!CONFLICT.test(String(error))) throw error
      counts.conflicts += 1
    }
  }
  return counts
}

/** Changes of tables by Spark: each kind of statement in turn, copy-on-write and merge-on-read. */
export class SparkChanges {
  readonly #spark: SparkSession
  readonly #random: Random
  /** The next id to insert, by table. */
  readonly #next = new Map<string, number>()

  constructor(spark: SparkSession, random: Random) {
    this.#spark = spark
    this.#random = random
  }

  /** One change of a table of the namespace `m` in the catalog `lockhouse`. */
  async change(short: string, turn: number): Promise<void> {
    const table = `lockhouse.m.${short}`
    const mode = turn % 2 === 0 ? 'copy-on-write' : 'merge-on-read'
    const modes = ['delete', 'update', 'merge'].map((kind) => `'write.${kind}.mode' = '${mode}'`)
    if (turn % 3 === 0) await this.#spark.sql(`ALTER TABLE ${table} SET TBLPROPERTIES (${modes.join(', ')})`)
    await this.#spark.sql(this.#statement(short, turn))
  }

  /** Inserts new rows. */
  insert(short: string): Promise<unknown> {
    return this.#spark.sql(this.#insert(short))
  }

  #statement(short: string, turn: number): string {
    const table = `lockhouse.m.${short}`
    const some = `id % ${3 + this.#random(5)} = ${this.#random(3)}`
    const next = this.#next.get(short) ?? 0
    const first = this.#random(Math.max(1, next - ROWS))
    const statements = [
      () => this.#insert(short),
      () => `UPDATE ${table} SET name = 'u${turn}', part = (part + 1) % 3 WHERE ${some}`,
      () =>
        `MERGE INTO ${table} t USING (SELECT id FROM range(${first}, ${first + ROWS})) s ON t.id = s.id
         WHEN MATCHED AND s.id % 4 = 1 AND s.id >= ${KEPT_IDS} THEN DELETE
         WHEN MATCHED THEN UPDATE SET name = 'm${turn}'
         WHEN NOT MATCHED THEN INSERT (id, part, name) VALUES (s.id, CAST(s.id % 3 AS INT), NULL)`,
      () => `DELETE FROM ${table} WHERE id >= ${KEPT_IDS} AND ${some}`,
      () => this.#insert(short),
      () => `UPDATE ${table} SET id = id + ${KEY_STEP * turn}L WHERE id >= ${KEPT_IDS} AND id < ${next} AND ${some}`,
      () => `CALL lockhouse.system.rewrite_data_files(table => 'm.${short}', options => map('rewrite-all', 'true'))`,
      () => `DELETE FROM ${table} WHERE id >= ${KEY_STEP} AND ${some}`,
    ]
    return statements[turn % statements.length]?.() ?? this.#insert(short)
  }

  #insert(short: string): string {
    const first = this.#next.get(short) ?? 0
    this.#next.set(short, first + ROWS)
    return (
      `INSERT INTO lockhouse.m.${short} SELECT /*+ COALESCE(1) */ id, CAST(id % 3 AS INT), IF(id % 5 = 0, NULL, concat('n', id)) ` +
      `FROM range(${first}, ${first + ROWS})`
    )
  }
}

/** Changes of a table by PyIceberg: appends, upserts, overwrites and deletes in turn. */
export class PyIcebergChanges {
  readonly #python: PyIceberg
  readonly #table: string
  readonly #random: Random
  #next = FIRST_ID_OF_PYICEBERG

  constructor(python: PyIceberg, table: string, random: Random) {
    this.#python = python
    this.#table = table
    this.#random = random
  }

  async change(turn: number): Promise<void> {
    const first = FIRST_ID_OF_PYICEBERG + this.#random(Math.max(1, this.#next - FIRST_ID_OF_PYICEBERG - ROWS))
    const range = { first, count: ROWS, text: `p${turn}-` }
    const within = `id >= ${first} and id < ${first + ROWS}`
    const bySpark = KEPT_IDS + this.#random(2 * ROWS)
    const deleted = turn % 2 === 0 ? within : `id >= ${bySpark} and id < ${bySpark + 5}`
    const changes = [
      () => this.#append(),
      () => this.#python.change(this.#table, 'upsert', range),
      () => this.#python.change(this.#table, 'overwrite', { ...range, where: within }),
      () => this.#append(),
      () => this.#python.change(this.#table, 'delete', { where: deleted }),
    ]
    await changes[(turn - 1) % changes.length]?.()
  }

  async #append(): Promise<void> {
    const first = this.#next
    this.#next += ROWS
    await this.#python.change(this.#table, 'append', { first, count: ROWS })
  }
}
