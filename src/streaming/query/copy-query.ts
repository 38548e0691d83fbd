import type { ReadMode, SchemaChange, SinkWrite } from '../../domain/pipelines/modes.ts'
import { CHANGE_COLUMNS, CHANGE_ORDINAL, CHANGE_TYPE, isChangeColumn } from '../../iceberg/changes/change-columns.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import { sparkChangeProblems } from '../spark/change-problems.ts'
import { sparkCopy } from '../spark/copy-sql.ts'
import type { BatchQuery, BatchSchemas, CompiledBatch } from '../sink/batch-query.ts'
import { mapColumns, type SourceColumn } from '../sink/column-mapping.ts'
import { keyColumns, type MergeKey, mergeKey } from '../sink/merge-key.ts'

/** What a copy reads, and how it writes. */
export interface CopyModes {
  readonly read: ReadMode
  readonly write: SinkWrite
  /** Columns of the source by which an inserted and a deleted row are an update; default: none are. */
  readonly updateKey?: readonly string[] | undefined
  /** See {@link BatchQuery.onSchemaChange}. */
  readonly onSchemaChange?: SchemaChange | undefined
}

const INPUT = 'source_rows'
const PLAIN: CopyModes = { read: 'appends', write: { mode: 'append' } }

/** Copies every row of one source, or every change; columns are matched as {@link mapColumns} says. */
export function copyQuery(modes: CopyModes = PLAIN): BatchQuery {
  const { read, write, onSchemaChange } = modes
  const problems = sparkChangeProblems([{ place: '', setting: read }], { place: '', setting: write })
  return {
    reads: [read],
    write,
    onSchemaChange,
    compile: (schemas) => compile(schemas, modes),
    sparkBatch: problems.length === 0 ? sparkCopy : () => ({ query: '', problems }),
  }
}

function compile({ sources, sink, known }: BatchSchemas, modes: CopyModes): CompiledBatch {
  const [source] = sources
  if (source === undefined || sources.length > 1) throw new Error('a copy has one source')
  const { read, write, updateKey = [] } = modes
  const extra = read === 'changes' ? CHANGE_COLUMNS : []
  const wide = { ...source, fields: [...source.fields, ...extra] }
  const mapped = mapColumns(wide, sink, known)
  const updates = keyColumns(source, updateKey)
  const { merge, change, problems } = mergeOf(wide, sink, modes)
  const columns = mapped.reads.map(({ id }, at) => `c${id} AS c${mapped.sinkIds[at]}`)
  const fields = withFields(mapped.reads, change === undefined ? extra : [...extra, change])
  const input = { name: INPUT, fields, columnsBy: 'id' } as const
  const changes = { keyIds: updates.fields.map(({ id }) => id), isByRowId: false }
  return {
    inputs: [read === 'changes' ? { ...input, changes } : input],
    query: `SELECT ${[...columns, ...changeSql(modes, change)].join(', ')} FROM ${INPUT}`,
    ...(merge === undefined ? {} : { merge }),
    isRepeatable: true,
    isOneToOne: read === 'appends' && write.mode === 'append',
    pairs: mapped.pairs.filter(([sourceId]) => !isChangeId(sourceId)),
    missing: mapped.missing.filter(({ field }) => write.mode === 'append' || !isChangeColumn(field)),
    problems: [...mapped.problems, ...problems, ...updates.problems, ...changeProblems(source, mapped.missing, modes)],
  }
}

interface CopyMerge extends MergeKey {
  /** The column that says how a row changed: of the source's changes, or of a table that is a log of changes. */
  readonly change: NestedField | undefined
}

function mergeOf({ fields }: Schema, sink: Schema, { read, write }: CopyModes): CopyMerge {
  const key = mergeKey(sink, write)
  if (write.mode === 'append') return { ...key, change: undefined }
  const isChange = ({ id, name, type }: NestedField): boolean =>
    read === 'changes' ? id === CHANGE_TYPE.id : name.toLowerCase() === CHANGE_TYPE.name && type.kind === 'string'
  const change = fields.find(isChange)
  if (write.mode === 'upsert' || change !== undefined) return { ...key, change }
  return { ...key, change, problems: [...key.problems, NO_CHANGES] }
}

/** Why a mirror has nothing to apply. */
const NO_CHANGES =
  'a mirror needs to know which rows are deleted: read changes, or give rows a column _change_type ' +
  '(insert, update_after, update_before or delete)'

function isChangeId(id: number): boolean {
  return CHANGE_COLUMNS.some((column) => column.id === id)
}

/** Why changes cannot be told apart, or cannot be told from rows. */
function changeProblems(
  source: Schema,
  missing: readonly SourceColumn[],
  { read, write, onSchemaChange }: CopyModes,
): string[] {
  if (read === 'appends') return []
  const own = source.fields.find(isChangeColumn)
  if (own !== undefined)
    return [`the source has a column ${own.name}, so its changes cannot be read: their columns have this name`]
  const isLost =
    write.mode === 'append' && onSchemaChange === 'ignore' && missing.some(({ field }) => isChangeId(field.id))
  return isLost ? ['the sink needs the columns of changes: without them, deleted rows cannot be told from others'] : []
}

/** What happens to a row and, of changes, after which others; a log is read in its order. */
function changeSql({ read, write }: CopyModes, change: NestedField | undefined): string[] {
  if (write.mode === 'append') return []
  const ordinal = read === 'changes' ? `c${CHANGE_ORDINAL.id}` : 'NULL'
  return [
    `${change === undefined ? 'NULL' : `c${change.id}`} AS c${CHANGE_TYPE.id}`,
    `${ordinal} AS c${CHANGE_ORDINAL.id}`,
  ]
}

function withFields(fields: readonly NestedField[], more: readonly NestedField[]): readonly NestedField[] {
  const ids = new Set(fields.map(({ id }) => id))
  return [...fields, ...more.filter(({ id }) => !ids.has(id) && ids.add(id))]
}
