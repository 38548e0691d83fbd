import { CHANGE_COLUMNS } from '../../../iceberg/changes/change-columns.ts'
import { LAST_UPDATED, ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'
import type { ChangeScanTask } from '../../../iceberg/changes/changed-files.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import { locationKey } from '../../../iceberg/io/location-identity.ts'
import type { FileScanTask } from '../../../iceberg/scan/scan.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'
import type { ChangesRead, QueryInput } from '../../engine.ts'

import { POSITION_DELETES } from '../scan/position-deletes.ts'
import { openInputs } from '../scan/inputs.ts'
import type { ScanInput } from '../scan/inputs.ts'
import { type InputColumn, RowSource } from '../scan/row-source.ts'
import type { StageContext } from '../scan/stage-context.ts'
import {
  changeColumns,
  type ChangeKey,
  MARKS,
  netChanges,
  oneSidedChanges,
  POSITION,
  withUpdates,
} from './change-sql.ts'

/** The changes of one input. */
interface ChangeInput extends Pick<QueryInput, 'fields' | 'inputs'> {
  readonly changes: ChangesRead
}

/**
 * A SELECT of changed rows, with a column `c<id>` for each field, those of {@link CHANGE_COLUMNS} included, and the row id where rows
 * are identified by it; undefined when no file changed. Deletes are loaded into temporary tables, whose names begin with `prefix`, as those of staged files do.
 *
 * A file with other deletes than before is read at the positions that differ; the rest of its rows is never read.
 */
export async function openChanges(
  context: StageContext,
  { inputs, fields, changes: { keyIds, isByRowId } }: ChangeInput,
  prefix: string,
): Promise<string | undefined> {
  const ownFields = fields.filter(({ id }) => !RESERVED.some((column) => column.id === id))
  requireOwnIds(context)
  const columns: SideColumns = { fields: ownFields, withLineage: isByRowId }
  const read = isByRowId ? [...ownFields, ROW_ID] : ownFields
  const key = keyOf(ownFields, { keyIds, isByRowId })
  const snapshots = [...Map.groupBy(inputs.map(requireMark), ({ change }) => change.ordinal).values()]
  const isNew = neverSeen()
  const { oneSided = [], twoSided = [] } = Object.groupBy(snapshots, (tasks) =>
    isOneSided(tasks, key) && isNew(tasks) ? 'oneSided' : 'twoSided',
  )
  const parts: string[] = []
  if (oneSided.length > 0) {
    const source = await openSide(context, oneSided.flat(), `${prefix}w_`)
    const sql = source.liveRows({ ...withMarks(columns), withPosition: true })
    parts.push(oneSidedChanges({ sql, fields: read }))
  }
  const compared: string[] = []
  for (const [at, tasks] of twoSided.entries()) {
    const sql = await openSnapshot(context, { tasks, columns, prefix: `${prefix}${at}_` })
    const [first] = tasks
    if (sql !== undefined && first !== undefined) compared.push(netChanges({ sql, fields: read }, first.change))
  }
  if (compared.length > 0) {
    const changes = compared.join(UNION)
    const all = key === undefined ? changes : withUpdates(changes, read, key)
    parts.push(`SELECT *, NULL::BIGINT AS ${POSITION} FROM (${all}) AS a`)
  }
  return parts.length === 0 ? undefined : changeColumns(parts.join(UNION), read)
}

const RESERVED: readonly NestedField[] = [...CHANGE_COLUMNS, ROW_ID]
const UNION = '\nUNION ALL\n'

function requireMark(task: FileScanTask): ChangeScanTask {
  if ('change' in task) return task as ChangeScanTask
  throw new IcebergError('ENGINE_FAILED', `${task.dataFile.filePath} has no mark of a change`)
}

function requireOwnIds({ metadata }: StageContext): void {
  const taken = metadata.schemas
    .flatMap((schema) => schema.fields)
    .find(({ id }) => RESERVED.some((column) => column.id === id))
  if (taken === undefined) return
  throw new IcebergError('UNSUPPORTED', `column ${taken.name} has the field id ${taken.id}, which the format reserves`)
}

function keyOf(fields: readonly NestedField[], { keyIds, isByRowId }: ChangesRead): ChangeKey | undefined {
  if (isByRowId) return { columns: [ROW_ID], name: ROW_ID.name, isOptional: true }
  if (keyIds.length === 0) return undefined
  const columns = keyIds.map((id) => {
    const field = fields.find((candidate) => candidate.id === id)
    if (field === undefined) throw new IcebergError('NO_SUCH_COLUMN', `the table has no key column with the id ${id}`)
    return field
  })
  return { columns, name: columns.map(({ name }) => name).join(', '), isOptional: false }
}

/** Whether all rows of a snapshot appear or all disappear. With a key, deleted rows are compared with each other. */
function isOneSided(tasks: readonly ChangeScanTask[], key: ChangeKey | undefined): boolean {
  const isInsert = tasks.every(({ change }) => change.side === 'after' && !change.isPaired)
  return isInsert || (key === undefined && tasks.every(({ change }) => change.side === 'before' && !change.isPaired))
}

/** Position deletes name their data file by its path, so one source must not have a file twice. */
function neverSeen(): (tasks: readonly ChangeScanTask[]) => boolean {
  const seen = new Set<string>()
  return (tasks) => {
    const paths = tasks.map(({ dataFile }) => locationKey(dataFile.filePath))
    const isNew = paths.every((path) => !seen.has(path))
    for (const path of paths) seen.add(path)
    return isNew
  }
}

/** The columns that both sides of a snapshot have. */
interface SideColumns {
  readonly fields: readonly NestedField[]
  readonly withLineage: boolean
}

function withMarks(columns: SideColumns): SideColumns & { readonly perInput: readonly InputColumn[] } {
  return { ...columns, perInput: MARK_COLUMNS }
}

const MARK_COLUMNS: readonly InputColumn[] = [
  { alias: MARKS.ordinal, literal: ({ task }) => `${markOf(task).ordinal}::INTEGER` },
  { alias: MARKS.snapshot, literal: ({ task }) => `${markOf(task).snapshotId}::BIGINT` },
  { alias: MARKS.sign, literal: ({ task }) => (markOf(task).side === 'after' ? '1' : '-1') },
]

function markOf(task: FileScanTask): ChangeScanTask['change'] {
  return requireMark(task).change
}

async function openSide(context: StageContext, tasks: readonly FileScanTask[], prefix: string): Promise<RowSource> {
  const inputs = await openInputs(context, tasks, `${prefix}d`)
  return RowSource.create(context, inputs, {
    table: `${prefix}${POSITION_DELETES}`,
    prefix: `${prefix}p`,
    keyPrefix: prefix,
  })
}

interface SnapshotTasks {
  readonly tasks: readonly ChangeScanTask[]
  readonly columns: SideColumns
  readonly prefix: string
}

/**
 * The rows of both sides of one snapshot. Each side has separate deletes: together, equality deletes that apply to one side
 * only would each need a join.
 */
async function openSnapshot(
  context: StageContext,
  { tasks, columns, prefix }: SnapshotTasks,
): Promise<string | undefined> {
  const sideOf = (side: ChangeScanTask['change']['side']): readonly ChangeScanTask[] => {
    const all = tasks.filter(({ change }) => change.side === side)
    // files of both sides first: they have the same number on both
    return [...all.filter(({ change }) => change.isPaired), ...all.filter(({ change }) => !change.isPaired)]
  }
  const parts: string[] = []
  const sides: RowSource[] = []
  for (const side of ['before', 'after'] as const) {
    const source = await openSide(context, sideOf(side), `${prefix}${side}_`)
    sides.push(source)
    const rows = source.liveRows({ ...withMarks(columns), of: (input) => !isPaired(input) })
    if (rows !== '') parts.push(rows)
  }
  const [before, after] = sides
  if (before !== undefined && after !== undefined) {
    const changed = await changedPositions(context, { before, after, table: `${prefix}changed` })
    if (changed !== undefined) parts.push(rowsAt(changed, after, columns))
  }
  return parts.length === 0 ? undefined : parts.join(UNION)
}

function isPaired({ task }: ScanInput): boolean {
  return markOf(task).isPaired
}

/**
 * Stores where deletes came or went, as `p` and `g`, in a table. A vector replaces the one before and delete files can be merged,
 * so positions are compared. Undefined when no file has other deletes.
 */
async function changedPositions(
  { run }: StageContext,
  { before, after, table }: { readonly before: RowSource; readonly after: RowSource; readonly table: string },
): Promise<string | undefined> {
  const [old, now] = [before, after].map((side) => side.deletedPositions(isPaired) ?? NO_POSITIONS)
  if (old === now) return undefined
  await run.execute(`
    CREATE TEMP TABLE ${table} AS
    SELECT p, -1 AS g FROM ((${now}) EXCEPT (${old})) UNION ALL SELECT p, 1 AS g FROM ((${old}) EXCEPT (${now}))`)
  return table
}

const NO_POSITIONS = 'SELECT 0::BIGINT AS p WHERE false'

function rowsAt(table: string, source: RowSource, columns: SideColumns): string {
  const stored = source.storedRows({
    ...columns,
    perInput: MARK_COLUMNS.filter(({ alias }) => alias !== MARKS.sign),
    withPosition: true,
    of: isPaired,
  })
  const lineage = columns.withLineage ? [ROW_ID, LAST_UPDATED].map(({ id }) => `c${id}`) : []
  const names = [...columns.fields.map(({ id }) => `c${id}`), MARKS.ordinal, MARKS.snapshot]
  const list = [...names.map((name) => `s.${name}`), `d.${MARKS.sign}`, ...lineage.map((name) => `s.${name}`)]
  return `SELECT ${list.join(', ')} FROM (${stored}) AS s JOIN ${table} AS d ON d.p = s.p`
}
