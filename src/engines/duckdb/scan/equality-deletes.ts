import { IcebergError } from '../../../iceberg/errors.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import { PartitionScopes } from '../../../iceberg/scan/file-scope.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import type { DeleteFileRef } from '../../../iceberg/scan/delete-index.ts'
import { fieldById, parentFieldId } from '../../../iceberg/schema/schema.ts'
import type { Schema } from '../../../iceberg/schema/schema.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'
import { isNested } from '../../../iceberg/schema/types.ts'

import { withFieldIds } from './field-ids.ts'
import type { FileField, FileShape } from './file-schema.ts'
import { byShape } from './position-deletes.ts'
import { openFiles } from './inputs.ts'
import type { ScanInput, StagedFile } from './inputs.ts'
import type { StageContext } from './stage-context.ts'
import { scanSql } from './scan-sql.ts'
import type { PerFileColumn, ScanColumn } from './scan-sql.ts'

/** A column that equality deletes compare: `column` is reduced to the compared leaf. */
export interface KeyColumn {
  readonly column: NestedField
  /** SQL of the compared value, given the SQL of `column`. */
  readonly value: (source: string) => string
  /** SQL of how many of the structs around the leaf are not null; undefined for a top-level column. */
  readonly structs: ((source: string) => string) | undefined
  /** Whether to compare the sign of zero too, which `=` ignores (docs/iceberg-notes.md#equality-keys). */
  readonly isFloating: boolean
}

/** All equality deletes with the same equality ids, for table `name`: scope, key columns `k<n>`, rank. */
export interface EqualitySet {
  readonly name: string
  /** SELECT of the columns of the table, with repeated keys. */
  readonly rows: string
  /** About how many bytes the rows have in the engine's memory. */
  readonly memoryBytes: number
  readonly keys: readonly KeyColumn[]
  /** For each input, the scopes that hold deletes for it, each with the lowest rank that applies. */
  readonly scopes: ReadonlyMap<ScanInput, readonly ScopeUse[]>
}

interface ScopeUse {
  readonly scope: number
  readonly minRank: number
}

interface Collected {
  readonly ids: readonly number[]
  readonly files: Map<string, { readonly ref: DeleteFileRef; readonly inputs: Set<ScanInput> }>
}

/** A part of all keys, by their hash. */
export interface KeyBucket {
  readonly index: number
  readonly count: number
}

/**
 * Opens the equality deletes that apply to the inputs, one set per combination of equality ids; {@link loadKeys} loads them. Names of
 * tables and of staged files begin with `prefix`.
 */
export async function openEqualityDeletes(
  context: StageContext,
  inputs: readonly ScanInput[],
  prefix = '',
): Promise<readonly EqualitySet[]> {
  const sets: EqualitySet[] = []
  for (const collected of collect(inputs).values())
    sets.push(await openSet(context, collected, `${prefix}equality_deletes_${sets.length}`))
  return sets
}

/** Loads the keys of a set, or those of one bucket in the place of the ones before. */
export async function loadKeys(
  run: StageContext['run'],
  { name, keys, rows }: EqualitySet,
  bucket: KeyBucket = { index: 0, count: 1 },
): Promise<void> {
  const columns = keySql(keys, 's').map((_, at) => `k${at}`)
  const where = bucket.count === 1 ? '' : `WHERE hash(${columns.join(', ')}) % ${bucket.count} = ${bucket.index}`
  await run.execute(`
    CREATE OR REPLACE TEMP TABLE ${name} AS
    SELECT scope, ${columns.join(', ')}, max(rank) AS rank FROM (${rows}) AS r ${where} GROUP BY ALL`)
}

function collect(inputs: readonly ScanInput[]): ReadonlyMap<string, Collected> {
  const sets = new Map<string, Collected>()
  for (const input of inputs) {
    for (const ref of input.task.deletes) {
      if (ref.file.content !== 'equality-deletes') continue
      const ids = (ref.file.equalityIds ?? []).toSorted((a, b) => a - b)
      if (ids.length === 0) throw new IcebergError('INVALID_METADATA', `${ref.file.filePath} has no equality ids`)
      const set = sets.get(ids.join()) ?? { ids, files: new Map() }
      sets.set(ids.join(), set)
      const entry = set.files.get(ref.file.filePath) ?? { ref, inputs: new Set() }
      set.files.set(ref.file.filePath, entry)
      entry.inputs.add(input)
    }
  }
  return sets
}

async function openSet(context: StageContext, { ids, files }: Collected, name: string): Promise<EqualitySet> {
  const { metadata } = context
  const keys = ids.map((id) => keyColumn(metadata, id))
  const entries = [...files.values()]
  const { ranked, scopes } = rankDeletes(metadata, entries)
  const staged = await openFiles(
    context,
    entries.map(({ ref }) => ref.file),
    {
      prefix: `${name}_`,
      assign: (shape, location) => requireKeys(withFieldIds(shape, metadata, location), keys, location),
    },
  )
  const numbers = new Map(staged.map((file, at) => [file, at]))
  const scans = byShape(staged).map((group) => {
    const order = group.map((file) => numbers.get(file) ?? 0)
    const perFile: PerFileColumn[] = [
      { alias: 'scope', values: order.map((at) => ranked[at]?.scope ?? 0) },
      { alias: 'rank', values: order.map((at) => ranked[at]?.rank ?? 0) },
    ]
    return keyScan(group, metadata, { keys, perFile })
  })
  const columns = keySql(keys, 's').map((sql, at) => `${sql} AS k${at}`)
  const rows = `SELECT scope, ${columns.join(', ')}, rank FROM (${scans.join(' UNION ALL ')}) AS s`
  const memoryBytes = staged.reduce((sum, file) => sum + file.memoryBytes, 0)
  return { name, rows, memoryBytes, keys, scopes }
}

function keyScan(
  group: readonly StagedFile[],
  metadata: TableMetadata,
  { keys, perFile }: { readonly keys: readonly KeyColumn[]; readonly perFile: readonly PerFileColumn[] },
): string {
  return scanSql(group, metadata, { columns: keyScanColumns(keys, 'q'), perFile })
}

/** Columns that a scan must have for {@link keySql} to compare rows. */
export function keyScanColumns(keys: readonly KeyColumn[], prefix: string): readonly ScanColumn[] {
  return keys.map(({ column }, at) => ({ alias: `${prefix}${at}`, field: column }))
}

/**
 * SQL of all compared values over the columns of {@link keyScanColumns}. A member of a null struct differs from a null
 * member of a struct: Java compares whole structs (`StructProjection`, `StructLikeSet`), and a row that Java keeps must not
 * be lost by a rewrite.
 */
export function keySql(keys: readonly KeyColumn[], table: string, prefix = 'q'): readonly string[] {
  return keys.flatMap((key, at) => {
    const source = `${table}.${prefix}${at}`
    const value = key.value(source)
    const keys = key.structs ? [value, key.structs(source)] : [value]
    // Java compares bits with one NaN: -0.0 differs from 0.0, NaN equals NaN
    return key.isFloating ? [...keys, `(signbit(${value}) AND NOT isnan(${value}))`] : keys
  })
}

function keyColumn(metadata: TableMetadata, id: number): KeyColumn {
  const isCurrent = (schema: Schema): number => Number(schema.schemaId === metadata.currentSchemaId)
  const schemas = metadata.schemas.toSorted((a, b) => isCurrent(b) - isCurrent(a) || b.schemaId - a.schemaId)
  for (const schema of schemas) {
    const leaf = fieldById(schema, id)
    if (!leaf) continue
    if (isNested(leaf.type)) break
    const isFloating = leaf.type.kind === 'float' || leaf.type.kind === 'double'
    return { ...cutDown(schema, { ...leaf, required: false }), isFloating }
  }
  throw new IcebergError('INVALID_METADATA', `equality id ${id} is not a primitive column of any schema of the table`)
}

/** The top-level column of a leaf, reduced to that leaf, and the path to the leaf. */
function cutDown(schema: Schema, leaf: NestedField): Pick<KeyColumn, 'column' | 'value' | 'structs'> {
  let column = leaf
  let depth = 0
  for (let parent = parentFieldId(schema, column.id); parent !== undefined; parent = parentFieldId(schema, column.id)) {
    const outer = fieldById(schema, parent)
    if (outer?.type.kind !== 'struct') {
      const type = outer ? formatType(outer.type) : 'nothing'
      throw new IcebergError(
        'UNSUPPORTED',
        `equality id ${leaf.id} is inside ${type}; only struct members can be compared`,
      )
    }
    column = { ...outer, required: false, type: { kind: 'struct', fields: [column] } }
    depth += 1
  }
  const structs = (source: string): string =>
    `(${Array.from({ length: depth }, (_, level) => `(${memberAt(source, level)} IS NOT NULL)::INTEGER`).join(' + ')})`
  return {
    column,
    value: (source) => memberAt(source, depth),
    structs: depth === 0 ? undefined : structs,
  }
}

/** SQL of the first member of the first member, and so on, of a struct. */
function memberAt(source: string, depth: number): string {
  return depth === 0 ? source : memberAt(`struct_extract_at(${source}, 1)`, depth - 1)
}

function requireKeys(shape: FileShape, keys: readonly KeyColumn[], location: string): FileShape {
  for (const { column } of keys) {
    if (hasLeaf(shape.columns, column)) continue
    throw new IcebergError(
      'CORRUPT_FILE',
      `the equality delete file ${location} lacks the compared column ${column.name}`,
    )
  }
  return shape
}

function hasLeaf(fields: readonly FileField[], wanted: NestedField): boolean {
  const found = fields.find((field) => field.fieldId === wanted.id)
  if (found === undefined) return false
  const [inner] = wanted.type.kind === 'struct' ? wanted.type.fields : []
  return inner === undefined || (found.type.kind === 'struct' && hasLeaf(found.type.fields, inner))
}

interface DeleteEntry {
  readonly ref: DeleteFileRef
  readonly inputs: ReadonlySet<ScanInput>
}

interface Ranking {
  /** By position in the entries. */
  readonly ranked: readonly { readonly scope: number; readonly rank: number }[]
  readonly scopes: ReadonlyMap<ScanInput, readonly ScopeUse[]>
}

/**
 * Groups deletes into scopes (partitions) and ranks them by sequence number, so that the deletes of a file are described by
 * one number: all deletes of the scope from that rank on. If the deletes that apply to some file are not the last ones of
 * their scope, the scope is split into deletes that apply to exactly the same files.
 */
function rankDeletes(metadata: TableMetadata, entries: readonly DeleteEntry[]): Ranking {
  const partitions = new PartitionScopes(metadata)
  const ranked: { scope: number; rank: number }[] = entries.map(() => ({ scope: 0, rank: 0 }))
  const scopes = new Map<ScanInput, ScopeUse[]>()
  let next = 0
  const addScope = (members: readonly number[], rankOf: (at: number) => number): void => {
    const lowest = new Map<ScanInput, number>()
    for (const at of members) {
      ranked[at] = { scope: next, rank: rankOf(at) }
      for (const input of entries[at]?.inputs ?? []) {
        lowest.set(input, Math.min(lowest.get(input) ?? Infinity, rankOf(at)))
      }
    }
    for (const [input, minRank] of lowest) {
      const uses = scopes.get(input) ?? []
      scopes.set(input, uses)
      uses.push({ scope: next, minRank })
    }
    next += 1
  }
  for (const members of groupBy(entries, ({ ref }) => scopeKey(partitions, ref.file)).values()) {
    const sequence = (at: number): number => entries[at]?.ref.sequenceNumber ?? 0
    if (isNestedBySequence(entries, members)) addScope(members, sequence)
    else for (const same of groupBy(entries, appliesTo, members).values()) addScope(same, () => 0)
  }
  return { ranked, scopes }
}

function scopeKey(partitions: PartitionScopes, file: DataFile): string {
  return partitions.isGlobal(file) ? 'all' : partitions.keyOf(file)
}

/** Whether every input that some delete of the scope applies to is also hit by all later ones. */
function isNestedBySequence(entries: readonly DeleteEntry[], members: readonly number[]): boolean {
  const ordered = members.toSorted(
    (a, b) => (entries[a]?.ref.sequenceNumber ?? 0) - (entries[b]?.ref.sequenceNumber ?? 0),
  )
  const counts = new Map<ScanInput, { first: number; count: number }>()
  for (const at of ordered) {
    const sequence = entries[at]?.ref.sequenceNumber ?? 0
    for (const input of entries[at]?.inputs ?? []) {
      const seen = counts.get(input) ?? { first: sequence, count: 0 }
      counts.set(input, { first: seen.first, count: seen.count + 1 })
    }
  }
  const from = new Map<number, number>()
  ordered.forEach((at, position) => {
    const sequence = entries[at]?.ref.sequenceNumber ?? 0
    if (!from.has(sequence)) from.set(sequence, ordered.length - position)
  })
  return [...counts.values()].every(({ first, count }) => from.get(first) === count)
}

function appliesTo({ inputs }: DeleteEntry): string {
  return [...inputs]
    .map((input) => input.index)
    .toSorted((a, b) => a - b)
    .join()
}

function groupBy(
  entries: readonly DeleteEntry[],
  keyOf: (entry: DeleteEntry) => string,
  members: readonly number[] = entries.map((_, at) => at),
): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const at of members) {
    const entry = entries[at]
    if (entry === undefined) continue
    const key = keyOf(entry)
    const group = groups.get(key)
    if (group) group.push(at)
    else groups.set(key, [at])
  }
  return groups
}
