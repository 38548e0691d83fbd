import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import { ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { keyScanColumns, keySql, loadKeys, openEqualityDeletes } from './equality-deletes.ts'
import type { EqualitySet, KeyBucket } from './equality-deletes.ts'
import { inputOfKey, loadPositionDeletes, POSITION_DELETES, positionKey } from './position-deletes.ts'
import type { DeleteLoad } from './position-deletes.ts'
import type { FileShape } from './file-schema.ts'
import { lineageColumns } from './row-lineage.ts'
import type { ScanInput } from './inputs.ts'
import type { StageContext } from './stage-context.ts'
import { scanSql } from './scan-sql.ts'
import type { PerFileColumn, ScanColumn, ScanRequest } from './scan-sql.ts'
import { allOf } from '../session/sql-text.ts'

/** Inputs that one SELECT reads: same shape, same spec, same kinds of deletes. */
interface InputGroup {
  readonly inputs: readonly ScanInput[]
  readonly hasPositionDeletes: boolean
  readonly equality: readonly EqualityUse[]
}

/** An equality set for a group; `slots` is the most scopes that one of its files has. */
interface EqualityUse {
  readonly set: EqualitySet
  readonly slots: number
}

export interface RowColumns {
  readonly fields: readonly NestedField[]
  /** Adds the v3 row lineage columns (docs/iceberg-notes.md#row-lineage). */
  readonly withLineage?: boolean
  /** Adds column `p`, the number of the input and the position in it ({@link positionKey}). */
  readonly withPosition?: boolean
  /** Keeps the rows that equality deletes remove. */
  readonly ignoresKeys?: boolean
  /** Adds columns with one value per input. */
  readonly perInput?: readonly InputColumn[]
  /** Only the rows of some inputs; default: all. */
  readonly of?: (input: ScanInput) => boolean
}

/** A column with one value per input: a SQL literal. */
export interface InputColumn {
  readonly alias: string
  readonly literal: (input: ScanInput) => string
}

/** See {@link RowSource.placedRows}. */
export interface PlacedRows {
  /** SELECT with a column `c<id>` for each field, the number `q` of a place, the position `n` in its file, and the stored row id `i`. */
  readonly rows: string
  /** Rows of three columns: the number of a place, the number of the input, and its first row id or NULL. */
  readonly places: string
}

interface LoadedDeletes {
  readonly groups: readonly InputGroup[]
  readonly sets: readonly EqualitySet[]
  /** Table of deleted positions. */
  readonly positions: string
}

/** The rows of data files without those that deletes remove. */
export class RowSource {
  readonly rowsRead: number
  readonly #context: StageContext
  readonly #groups: readonly InputGroup[]
  readonly #sets: readonly EqualitySet[]
  readonly #positions: string

  private constructor(context: StageContext, inputs: readonly ScanInput[], { groups, sets, positions }: LoadedDeletes) {
    this.#context = context
    this.#groups = groups
    this.#sets = sets
    this.#positions = positions
    this.rowsRead = inputs.reduce((sum, input) => sum + input.rowCount, 0)
  }

  /** Loads the deletes of the inputs into temporary tables of the run; `load` says where position deletes go. */
  static async create(
    context: StageContext,
    inputs: readonly ScanInput[],
    load: DeleteLoad = { table: POSITION_DELETES, prefix: 'p' },
  ): Promise<RowSource> {
    const source = await RowSource.open(context, inputs, load)
    await source.loadKeys()
    return source
  }

  /** The same without the keys of equality deletes: {@link loadKeys} loads them before rows are read. */
  static async open(
    context: StageContext,
    inputs: readonly ScanInput[],
    load: DeleteLoad = { table: POSITION_DELETES, prefix: 'p' },
  ): Promise<RowSource> {
    const positions = await loadPositionDeletes(context, inputs, load)
    const sets = await openEqualityDeletes(context, inputs, load.keyPrefix)
    const groups = groupInputs(inputs, (input) => ({
      hasPositionDeletes: positions.has(input),
      equality: sets.flatMap((set) => {
        const slots = set.scopes.get(input)?.length ?? 0
        return slots === 0 ? [] : [{ set, slots }]
      }),
    }))
    return new RowSource(context, inputs, { groups, sets, positions: load.table })
  }

  /** About how many bytes the keys of equality deletes have in the engine's memory. */
  get keyBytes(): number {
    return this.#sets.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
  }

  /** Loads the keys of equality deletes, or a part of them: then only this part deletes rows. */
  async loadKeys(bucket?: KeyBucket): Promise<void> {
    for (const set of this.#sets) await loadKeys(this.#context.run, set, bucket)
  }

  /** A SELECT of the remaining rows; column `c<id>` for each field. */
  liveRows(columns: RowColumns): string {
    const { ignoresKeys = false } = columns
    return this.#select(columns, (group) => ({
      ...group,
      ...(ignoresKeys ? { equality: [] } : {}),
    }))
  }

  /**
   * The rows that equality deletes leave, with their places and stored row ids as they are in the files. Computing a row's position key
   * and row id costs more than reading it, so a query that needs few of many rows computes them afterwards.
   */
  placedRows(fields: readonly NestedField[]): PlacedRows {
    const columns = fields.map((field): ScanColumn => ({ alias: `c${field.id}`, field }))
    const aliases = [...columns.map(({ alias }) => alias), 'q', 'n', 'i']
    const places: string[] = []
    const parts = this.#groups.map((all) => {
      const group = { ...all, hasPositionDeletes: false }
      const numbers = group.inputs.map((_, at) => places.length + at)
      places.push(
        ...group.inputs.map(({ index, file }, at) => {
          return `(${numbers[at]}::BIGINT, ${index}::BIGINT, ${file.firstRowId ?? 'NULL'}::BIGINT)`
        }),
      )
      const extra: ScanExtra = ({ constants, position, fileColumn }) => [
        `${constants.integer(numbers)} AS q`,
        `${position} AS n`,
        `${fileColumn(ROW_ID.id) ?? 'NULL'} AS i`,
      ]
      const scan = groupScan(group, this.#context.metadata, { columns, extra })
      return liveSql(group, scan, { aliases, positions: this.#positions })
    })
    return { rows: parts.join(UNION), places: `(VALUES ${places.join(', ')})` }
  }

  /** The same of all rows, deleted ones too. */
  storedRows(columns: RowColumns): string {
    return this.#select(columns, (group) => ({ ...group, hasPositionDeletes: false, equality: [] }))
  }

  /** A SELECT of column `p` of the rows that deletes remove from some inputs; undefined if they have no deletes. */
  deletedPositions(of: (input: ScanInput) => boolean): string | undefined {
    const parts = someInputs(this.#groups, of).flatMap((group) => {
      if (group.equality.length > 0) {
        const scan = groupScan(group, this.#context.metadata, { columns: [], extra: positionExtra(group.inputs) })
        return [deletedSql(group, scan, { positions: this.#positions, select: 's.p' })]
      }
      if (!group.hasPositionDeletes) return []
      const numbers = group.inputs.map(({ index }) => index)
      return [`SELECT k AS p FROM ${this.#positions} WHERE ${inputOfKey('k')} IN (${numbers.join(', ')})`]
    })
    return parts.length === 0 ? undefined : parts.join(UNION)
  }

  /**
   * A SELECT of the rows that equality deletes remove and position deletes do not: column `k`, the number of the input and the position
   * in it ({@link positionKey}). Undefined when no equality delete applies.
   */
  equalityDeletedRows(): string | undefined {
    const { metadata } = this.#context
    const groups = this.#groups.filter((group) => group.equality.length > 0)
    const parts = groups.map((group) => {
      const scan = groupScan(group, metadata, { columns: [], extra: positionExtra(group.inputs) })
      return equalityDeletedSql(group, scan, this.#positions)
    })
    return parts.length === 0 ? undefined : parts.join(UNION)
  }

  #select(
    { fields, withLineage = false, withPosition = false, perInput = [], of = () => true }: RowColumns,
    deletesOf: (group: InputGroup) => InputGroup,
  ): string {
    const columns = fields.map((field): ScanColumn => ({ alias: `c${field.id}`, field }))
    const lineage = withLineage ? lineageColumns : undefined
    const own = [columns, perInput].flatMap((list) => list.map(({ alias }) => alias))
    const aliases = [...own, ...(lineage?.aliases ?? []), ...(withPosition ? ['p'] : [])]
    const parts = someInputs(this.#groups, of).map((all) => {
      const group = deletesOf(all)
      const extras = [lineage?.extraFor(group.inputs), withPosition ? positionExtra(group.inputs) : undefined]
      const extra: ScanExtra = (build) => [
        ...extras.flatMap((columnsOf) => columnsOf?.(build) ?? []),
        ...perInput.map(({ alias, literal }) => `${build.constants.column(group.inputs.map(literal))} AS ${alias}`),
      ]
      const scan = groupScan(group, this.#context.metadata, { columns, extra })
      return liveSql(group, scan, { aliases, positions: this.#positions })
    })
    return parts.join(UNION)
  }

  /** Counts the rows that deletes remove, independently of {@link liveRows}. */
  async countDeleted(): Promise<number> {
    const { run, metadata } = this.#context
    let deleted = 0
    const onlyPositions = this.#groups.filter((group) => group.hasPositionDeletes && group.equality.length === 0)
    if (onlyPositions.length > 0) {
      const numbers = new Set(onlyPositions.flatMap((group) => group.inputs.map((input) => input.index)))
      for (const row of await run.rows(
        `SELECT ${inputOfKey('k')} AS f, count(*) AS n FROM ${this.#positions} GROUP BY f`,
      )) {
        if (numbers.has(Number(row['f']))) deleted += Number(row['n'])
      }
    }
    for (const group of this.#groups) {
      if (group.equality.length === 0) continue
      const scan = groupScan(group, metadata, { columns: [] })
      const [row] = await run.rows(deletedSql(group, scan, { positions: this.#positions, select: 'count(*) AS n' }))
      deleted += Number(row?.['n'] ?? 0)
    }
    return deleted
  }
}

const UNION = '\nUNION ALL\n'

function someInputs(groups: readonly InputGroup[], of: (input: ScanInput) => boolean): readonly InputGroup[] {
  return groups
    .map((group) => ({ ...group, inputs: group.inputs.filter(of) }))
    .filter(({ inputs }) => inputs.length > 0)
}

function groupInputs(
  inputs: readonly ScanInput[],
  deletesOf: (input: ScanInput) => Omit<InputGroup, 'inputs'>,
): readonly InputGroup[] {
  const shapes = new Map<FileShape, number>()
  const groups = new Map<string, { readonly inputs: ScanInput[]; readonly deletes: Omit<InputGroup, 'inputs'> }>()
  for (const input of inputs) {
    const shape = shapes.get(input.shape) ?? shapes.size
    shapes.set(input.shape, shape)
    const deletes = deletesOf(input)
    const equality = deletes.equality.map(({ set, slots }) => `${set.name}*${slots}`).join()
    const key = `${shape}/${input.file.specId}/${deletes.hasPositionDeletes}/${equality}`
    const group = groups.get(key)
    if (group) group.inputs.push(input)
    else groups.set(key, { inputs: [input], deletes })
  }
  return [...groups.values()].map((group) => ({ inputs: group.inputs, ...group.deletes }))
}

type ScanExtra = NonNullable<ScanRequest['extra']>

function positionExtra(inputs: readonly ScanInput[]): ScanExtra {
  const numbers = inputs.map((input) => input.index)
  return ({ constants, position }) => [`${positionKey(constants.integer(numbers), position)} AS p`]
}

interface GroupScan {
  readonly columns: readonly ScanColumn[]
  readonly extra?: ScanExtra
}

/** The scan of a group, with the columns that its deletes compare. */
function groupScan(group: InputGroup, metadata: TableMetadata, { columns, extra }: GroupScan): string {
  const keys = group.equality.flatMap(({ set }, at) => keyScanColumns(set.keys, `q${at}_`))
  const perFile: PerFileColumn[] = group.equality.flatMap(({ set, slots }, at) =>
    scopeColumns(group, set, { slots, at }),
  )
  return scanSql(group.inputs, metadata, {
    columns: [...columns, ...keys],
    perFile,
    extra: (build) => {
      const numbers = group.hasPositionDeletes ? group.inputs.map((input) => input.index) : []
      const key = numbers.length === 0 ? [] : [`${positionKey(build.constants.integer(numbers), build.position)} AS k`]
      return [...key, ...(extra?.(build) ?? [])]
    },
  })
}

function scopeColumns(
  group: InputGroup,
  set: EqualitySet,
  { slots, at }: { readonly slots: number; readonly at: number },
): PerFileColumn[] {
  return Array.from({ length: slots }, (_, slot) => {
    const uses = group.inputs.map((input) => set.scopes.get(input)?.[slot])
    return [
      { alias: `x${at}_${slot}`, values: uses.map((use) => use?.scope ?? -1) },
      { alias: `m${at}_${slot}`, values: uses.map((use) => use?.minRank ?? 0) },
    ]
  }).flat()
}

interface LiveSql {
  readonly aliases: readonly string[]
  /** Table of deleted positions. */
  readonly positions: string
}

function liveSql(group: InputGroup, scan: string, { aliases, positions: table }: LiveSql): string {
  const positions = group.hasPositionDeletes ? `ANTI JOIN ${table} AS d ON d.k = s.k` : ''
  const { joins, matches } = equalityJoins(group)
  const kept = matches.map(({ rank, minRank }) => `(${rank} IS NULL OR ${rank} < ${minRank})`)
  const list = aliases.length === 0 ? '1 AS one' : aliases.map((alias) => `s.${alias}`).join(', ')
  return `SELECT ${list} FROM (${scan}) AS s ${positions} ${joins.join(' ')} WHERE ${allOf(kept)}`
}

function equalityDeletedSql(group: InputGroup, scan: string, table: string): string {
  const positions = group.hasPositionDeletes ? `ANTI JOIN ${table} AS d ON d.k = s.k` : ''
  const { joins, matches } = equalityJoins(group)
  const hits = matches.map(({ rank, minRank }) => `${rank} >= ${minRank}`)
  return `SELECT s.p AS k FROM (${scan}) AS s ${positions} ${joins.join(' ')} WHERE ${hits.join(' OR ')}`
}

interface DeletedSql {
  /** Table of deleted positions. */
  readonly positions: string
  readonly select: string
}

function deletedSql(group: InputGroup, scan: string, { positions: table, select }: DeletedSql): string {
  const positions = group.hasPositionDeletes ? `LEFT JOIN ${table} AS d ON d.k = s.k` : ''
  const { joins, matches } = equalityJoins(group)
  const hits = matches.map(({ rank, minRank }) => `${rank} >= ${minRank}`)
  if (group.hasPositionDeletes) hits.push('d.k IS NOT NULL')
  return `SELECT ${select} FROM (${scan}) AS s ${positions} ${joins.join(' ')} WHERE ${hits.join(' OR ')}`
}

interface RankMatch {
  readonly rank: string
  readonly minRank: string
}

/** Joins that find the highest rank at which a row is deleted; at most one row of each table matches. */
function equalityJoins(group: InputGroup): {
  readonly joins: readonly string[]
  readonly matches: readonly RankMatch[]
} {
  const joins: string[] = []
  const matches: RankMatch[] = []
  for (const [at, { set, slots }] of group.equality.entries()) {
    for (let slot = 0; slot < slots; slot += 1) {
      const table = `e${at}_${slot}`
      const keys = keySql(set.keys, 's', `q${at}_`).map((sql, key) => `${table}.k${key} IS NOT DISTINCT FROM ${sql}`)
      joins.push(`LEFT JOIN ${set.name} AS ${table} ON ${allOf([`${table}.scope = s.x${at}_${slot}`, ...keys])}`)
      matches.push({ rank: `${table}.rank`, minRank: `s.m${at}_${slot}` })
    }
  }
  return { joins, matches }
}
