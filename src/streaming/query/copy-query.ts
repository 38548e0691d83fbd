import type { ReadMode, SinkWrite } from '../../domain/pipeline-modes.ts'
import { CHANGE_COLUMNS, CHANGE_TYPE } from '../../iceberg/changes/change-columns.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import { sparkCopy } from '../spark/copy-sql.ts'
import type { BatchQuery, BatchSchemas, CompiledBatch } from '../sink/batch-query.ts'
import { mapColumns } from '../sink/column-mapping.ts'
import { keyColumns, mergeKey } from '../sink/merge-key.ts'

/** What a copy reads, and how it writes. */
export interface CopyModes {
  readonly read: ReadMode
  readonly write: SinkWrite
  /** Columns of the source by which an inserted and a deleted row are an update; default: none are. */
  readonly updateKey?: readonly string[] | undefined
}

const INPUT = 'source_rows'
const PLAIN: CopyModes = { read: 'appends', write: { mode: 'append' } }

/** Copies every row of one source, or every change; columns are matched as {@link mapColumns} says. */
export function copyQuery(modes: CopyModes = PLAIN): BatchQuery {
  const { read, write } = modes
  const isPlain = read === 'appends' && write.mode === 'append'
  return {
    reads: [read],
    write,
    compile: (schemas) => compile(schemas, modes),
    ...(isPlain ? { sparkBatch: sparkCopy } : {}),
  }
}

function compile({ sources, sink, known }: BatchSchemas, { read, write, updateKey = [] }: CopyModes): CompiledBatch {
  const [source] = sources
  if (source === undefined || sources.length > 1) throw new Error('a copy has one source')
  const isChanged = read === 'changes'
  const wide = isChanged ? { ...source, fields: [...source.fields, ...CHANGE_COLUMNS] } : source
  const mapped = mapColumns(wide, sink, known)
  const columns = mapped.reads.map(({ id }, at) => `c${id} AS c${mapped.sinkIds[at]}`)
  const key = mergeKey(sink, write)
  const updates = keyColumns(source, updateKey)
  const change = write.mode === 'append' ? undefined : changeColumn(wide)
  const problems = [...mapped.problems, ...key.problems, ...updates.problems]
  if (write.mode === 'mirror' && change === undefined) problems.push(NO_CHANGES)
  const extra = [...(isChanged ? CHANGE_COLUMNS : []), ...(change === undefined ? [] : [change])]
  return {
    inputs: [
      {
        name: INPUT,
        fields: withFields(mapped.reads, extra),
        columnsBy: 'id',
        ...(isChanged ? { changes: { keyIds: updates.fields.map(({ id }) => id), isByRowId: false } } : {}),
      },
    ],
    query: `SELECT ${[...columns, ...changeSql(write, change)].join(', ')} FROM ${INPUT}`,
    ...(key.merge === undefined ? {} : { merge: key.merge }),
    isRepeatable: true,
    isOneToOne: !isChanged && key.merge === undefined,
    pairs: mapped.pairs.filter(([sourceId]) => !isChangeId(sourceId)),
    missing: mapped.missing.filter(
      ({ field }) => write.mode === 'append' || (!isChangeId(field.id) && field !== change),
    ),
    problems,
  }
}

/** Why a mirror has nothing to apply. */
export const NO_CHANGES =
  'a mirror needs to know which rows are deleted: read changes, or give rows a column _change_type ' +
  '(insert, update_after, update_before or delete)'

function isChangeId(id: number): boolean {
  return CHANGE_COLUMNS.some((column) => column.id === id)
}

/** The column that says how a row changed: of the source's changes, or of a table that is a log of changes. */
function changeColumn({ fields }: Schema): NestedField | undefined {
  return fields.find(({ name, type }) => name === CHANGE_TYPE.name && type.kind === 'string')
}

function changeSql({ mode }: SinkWrite, change: NestedField | undefined): string[] {
  if (mode === 'append') return []
  return [`${change === undefined ? 'NULL' : `c${change.id}`} AS c${CHANGE_TYPE.id}`]
}

function withFields(fields: readonly NestedField[], more: readonly NestedField[]): readonly NestedField[] {
  const ids = new Set(fields.map(({ id }) => id))
  return [...fields, ...more.filter(({ id }) => !ids.has(id) && ids.add(id))]
}
