import type { Random } from '../../maintenance/compaction/model-lake.ts'

/** How a history is written. */
export interface HistoryOptions {
  /** Full name of the table in Spark. */
  readonly table: string
  /** Its name in calls of procedures of its catalog. */
  readonly short: string
  readonly catalog: string
  readonly random: Random
  readonly formatVersion: 2 | 3
  /** `mixed`: each statement may write delete files. */
  readonly mode: 'copy-on-write' | 'mixed'
}

/** A column at the end of a history. */
export interface HistoryColumn {
  readonly name: string
  readonly kind: Kind
}

/** The statements of a history, and what the table has afterwards. */
export interface RandomHistory {
  readonly statements: readonly string[]
  readonly columns: readonly HistoryColumn[]
  /** Whether each `id` occurs at most once in every state. */
  readonly isUnique: boolean
}

/** How Spark makes a value of a type from the column `id`, and writes it as the text of our answers. */
interface Kind {
  readonly type: string
  readonly value: string
  readonly text: (column: string) => string
}

const asText = (column: string): string => `CAST(${column} AS STRING)`

/** An answer in JSON shows -0.0 as 0. */
const unsignedZero = (column: string): string => `CAST(${column} + CAST(0 AS FLOAT) AS STRING)`

const KINDS = {
  long: { type: 'BIGINT', value: 'id * 3', text: asText },
  int: { type: 'INT', value: 'CAST(id % 3 AS INT)', text: asText },
  string: { type: 'STRING', value: "IF(id % 5 = 0, NULL, concat('n', id % 7))", text: asText },
  float: {
    type: 'FLOAT',
    value:
      "CASE id % 4 WHEN 0 THEN CAST('NaN' AS FLOAT) WHEN 1 THEN CAST('-0.0' AS FLOAT) ELSE CAST(id AS FLOAT) / 2 END",
    text: unsignedZero,
  },
  double: {
    type: 'DOUBLE',
    value:
      "CASE id % 4 WHEN 0 THEN CAST('-0.0' AS DOUBLE) WHEN 1 THEN 0D WHEN 2 THEN CAST('Infinity' AS DOUBLE) ELSE id * 1.5D END",
    text: unsignedZero,
  },
  decimal: { type: 'DECIMAL(20, 4)', value: 'CAST(id AS DECIMAL(20, 4))', text: asText },
  timestamp: { type: 'TIMESTAMP', value: 'timestamp_micros(id * 1000001)', text: asText },
  date: { type: 'DATE', value: 'DATE_FROM_UNIX_DATE(CAST(id AS INT))', text: asText },
  boolean: { type: 'BOOLEAN', value: 'id % 2 = 0', text: asText },
  binary: { type: 'BINARY', value: 'IF(id % 6 = 0, NULL, unhex(hex(id % 5)))', text: (column) => `hex(${column})` },
  struct: {
    type: 'STRUCT<a: INT, b: STRING>',
    value: "IF(id % 4 = 0, NULL, named_struct('a', CAST(id % 3 AS INT), 'b', IF(id % 3 = 0, NULL, 'x')))",
    text: (column) =>
      `IF(${column} IS NULL, NULL, concat("{'a': ", coalesce(CAST(${column}.a AS STRING), 'NULL'), ", 'b': ", ` +
      `coalesce(${column}.b, 'NULL'), '}'))`,
  },
} satisfies Readonly<Record<string, Kind>>

type KindName = keyof typeof KINDS

const WIDER: Partial<Record<KindName, { readonly to: KindName; readonly type: string }>> = {
  int: { to: 'long', type: 'BIGINT' },
  float: { to: 'double', type: 'DOUBLE' },
  decimal: { to: 'decimal', type: 'DECIMAL(24, 4)' },
}
const ADDED: readonly KindName[] = [
  'long',
  'int',
  'string',
  'float',
  'double',
  'timestamp',
  'boolean',
  'binary',
  'struct',
]
const PARTITIONS = [
  '',
  'PARTITIONED BY (part)',
  'PARTITIONED BY (bucket(2, id))',
  'PARTITIONED BY (truncate(10, id), part)',
]
const PARTITION_CHANGES = ['bucket(2, id)', 'part', 'truncate(10, id)', 'bucket(3, part)']

/** Statements of a random table: its columns, partitions, writes and compactions. */
export function randomHistory(options: HistoryOptions): RandomHistory {
  const writer = new HistoryWriter(options)
  for (let step = 0; step < 5 + options.random(4); step += 1) writer.step()
  return writer.result()
}

interface Column {
  name: string
  kind: KindName
}

class HistoryWriter {
  readonly #options: HistoryOptions
  readonly #random: Random
  readonly #table: string
  readonly #statements: string[] = []
  readonly #columns: Column[]
  /** Expressions of the present partition spec. */
  readonly #partitions = new Set<string>()
  #next = 0
  #names = 0
  #isUnique = true

  constructor(options: HistoryOptions) {
    const { table, random, formatVersion } = options
    this.#options = options
    this.#random = random
    this.#table = table
    this.#columns = [
      { name: 'id', kind: 'long' },
      { name: 'part', kind: 'int' },
      ...shuffled(random, ['string', 'float', 'decimal', 'date', 'binary', 'struct', 'double'] as const)
        .slice(0, 2 + random(3))
        .map((kind) => ({ name: `c_${kind}`, kind })),
    ]
    const columns = this.#columns.map(({ name, kind }) => `${name} ${KINDS[kind].type}`).join(', ')
    const partitions = PARTITIONS[random(PARTITIONS.length)] ?? ''
    const parts = /\((.*)\)$/.exec(partitions)?.[1]?.split(/, (?=part)/) ?? []
    for (const part of parts) this.#partitions.add(part)
    this.#statements.push(
      `CREATE TABLE ${table} (${columns}) USING iceberg ${partitions} TBLPROPERTIES ('format-version'='${formatVersion}', ` +
        `'write.distribution-mode'='none', 'write.spark.fanout.enabled'='true', ${modes('copy-on-write')})`,
      this.#insert(),
    )
  }

  result(): RandomHistory {
    return {
      statements: this.#statements,
      columns: this.#columns.map(({ name, kind }) => ({ name, kind: KINDS[kind] })),
      isUnique: this.#isUnique,
    }
  }

  step(): void {
    const { random, mode } = this.#options
    if (random(3) === 0) this.#evolve()
    if (mode === 'mixed' && random(3) > 0) {
      const next = modes(random(3) === 0 ? 'copy-on-write' : 'merge-on-read')
      this.#statements.push(`ALTER TABLE ${this.#table} SET TBLPROPERTIES (${next})`)
    }
    this.#statements.push(this.#write())
  }

  #write(): string {
    const [table, random] = [this.#table, this.#random]
    const some = `id % ${2 + random(4)} = ${random(2)}`
    switch (random(10)) {
      case 0:
      case 1:
        return this.#insert()
      case 2:
        return `DELETE FROM ${table} WHERE ${random(3) === 0 ? `part = ${random(3)}` : some}`
      case 3:
      case 4:
        return `UPDATE ${table} SET ${this.#assignment()} WHERE ${some}`
      case 5:
      case 6:
        return this.#merge(some)
      case 7:
        return `INSERT OVERWRITE ${table} ${this.#rows(random(this.#next), 3 + random(6))}`
      case 8:
        return this.#copyRows(some)
      default:
        return (
          `CALL ${this.#options.catalog}.system.rewrite_data_files(table => '${this.#options.short}', ` +
          `options => map('rewrite-all', 'true'))`
        )
    }
  }

  /** A SELECT of `count` rows with ids from `from` on. */
  #rows(from: number, count: number): string {
    const list = this.#columns.map(({ name, kind }) => `${name === 'id' ? 'id' : KINDS[kind].value} AS ${name}`)
    return `SELECT ${list.join(', ')} FROM range(${from}, ${from + count}, 1, ${1 + this.#random(2)})`
  }

  #insert(): string {
    const count = 4 + this.#random(6)
    this.#next += count
    return `INSERT INTO ${this.#table} ${this.#rows(this.#next - count, count)}`
  }

  /** Equal rows: an id then no longer identifies one. */
  #copyRows(some: string): string {
    if (this.#random(3) > 0) return this.#insert()
    this.#isUnique = false
    return `INSERT INTO ${this.#table} SELECT * FROM ${this.#table} WHERE ${some}`
  }

  #merge(some: string): string {
    const from = this.#random(this.#next)
    // several equal ids of the table may match a row, but no row of the table may match two
    const rows = this.#rows(from, this.#next - from + 3)
    this.#next += 3
    return (
      `MERGE INTO ${this.#table} t USING (${rows}) s ON t.id = s.id ` +
      `WHEN MATCHED AND ${some.replace('id', 's.id')} THEN DELETE WHEN MATCHED AND t.id % 3 > 0 THEN UPDATE SET ` +
      `${this.#assignment('t.')} WHEN NOT MATCHED THEN INSERT *`
    )
  }

  #assignment(prefix = ''): string {
    const { name, kind } = this.#columns[1 + this.#random(this.#columns.length - 1)] ?? { name: 'part', kind: 'int' }
    const value = this.#random(4) === 0 ? 'NULL' : KINDS[kind].value.replaceAll(/\bid\b/g, `(${prefix}id + 1)`)
    return `${prefix}${name} = ${value}`
  }

  #evolve(): void {
    const [table, random] = [this.#table, this.#random]
    const own = this.#columns.slice(2)
    const column = own[random(Math.max(1, own.length))]
    switch (random(6)) {
      case 0:
      case 1:
        return this.#addColumn()
      case 2: {
        if (column === undefined) return
        const name = this.#freshName()
        this.#statements.push(`ALTER TABLE ${table} RENAME COLUMN ${column.name} TO ${name}`)
        column.name = name
        return
      }
      case 3: {
        if (column === undefined) return
        this.#statements.push(`ALTER TABLE ${table} DROP COLUMN ${column.name}`)
        this.#columns.splice(this.#columns.indexOf(column), 1)
        return
      }
      case 4:
        return this.#widen(column)
      default:
        return this.#changePartitions()
    }
  }

  #addColumn(): void {
    const random = this.#random
    const kind = ADDED[random(ADDED.length)] ?? 'long'
    // often the name of a dropped column, which is then another one
    const taken = new Set(this.#columns.map(({ name }) => name))
    const name = taken.has(`c_${kind}`) ? this.#freshName() : `c_${kind}`
    const isAfter = random(2) === 0
    this.#statements.push(
      `ALTER TABLE ${this.#table} ADD COLUMN ${name} ${KINDS[kind].type}${isAfter ? ' AFTER part' : ''}`,
    )
    this.#columns.splice(isAfter ? 2 : this.#columns.length, 0, { name, kind })
  }

  #widen(column: Column | undefined): void {
    const wider = column && WIDER[column.kind]
    if (column === undefined || wider === undefined) return
    this.#statements.push(`ALTER TABLE ${this.#table} ALTER COLUMN ${column.name} TYPE ${wider.type}`)
    column.kind = wider.to
  }

  #changePartitions(): void {
    const [present] = this.#partitions
    if (present !== undefined && this.#random(2) === 0) {
      this.#statements.push(`ALTER TABLE ${this.#table} DROP PARTITION FIELD ${present}`)
      this.#partitions.delete(present)
      return
    }
    const added = PARTITION_CHANGES.find((one) => !this.#partitions.has(one))
    if (added === undefined) return
    this.#statements.push(`ALTER TABLE ${this.#table} ADD PARTITION FIELD ${added}`)
    this.#partitions.add(added)
  }

  #freshName(): string {
    this.#names += 1
    return `x${this.#names}`
  }
}

function modes(mode: string): string {
  return ['delete', 'update', 'merge'].map((kind) => `'write.${kind}.mode'='${mode}'`).join(', ')
}

function shuffled<T>(random: Random, values: readonly T[]): readonly T[] {
  const rest = [...values]
  return values.flatMap(() => rest.splice(random(rest.length), 1))
}
