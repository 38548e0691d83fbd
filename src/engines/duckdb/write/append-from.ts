import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { IcebergError } from '../../../iceberg/errors.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { AppendFromResult, AppendFromTask, ChangesRead, QueryInput } from '../../engine.ts'
import type { EngineRunOptions } from '../../run-options.ts'

import { CHANGE_ORDINAL, CHANGE_TYPE } from '../../../iceberg/changes/change-columns.ts'

import { POSITION } from '../changes/change-sql.ts'
import { openChanges } from '../changes/open-changes.ts'
import { appendRows } from './append-rows.ts'
import { countChecks, dropNewTables, keepSteps, temporaryTables, writeSides } from './query-steps.ts'
import type { DuckDbRun } from '../session/session.ts'
import { SPILL_FOLDER } from '../session/sandbox-settings.ts'
import { requireReadable } from '../scan/read-checks.ts'
import { RowSource } from '../scan/row-source.ts'
import { openInputs } from '../scan/inputs.ts'
import type { StageContext } from '../scan/stage-context.ts'
import { quoteName } from '../session/sql-text.ts'
import { structMembers } from '../session/type-mapping.ts'
import { nullLiteral } from '../session/value-literal.ts'

const INPUT_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/

/** Refuses unreadable inputs before anything is opened. */
export function requireReadableInputs({ inputs, steps = [] }: Pick<AppendFromTask, 'inputs' | 'steps'>): void {
  const names = new Set<string>()
  for (const { name } of [...inputs, ...steps]) {
    if (!INPUT_NAME.test(name) || names.has(name.toLowerCase())) {
      throw new IcebergError('INVALID_ARGUMENT', `"${name}" is not a valid name of an input, or is used twice`)
    }
    names.add(name.toLowerCase())
  }
  for (const { metadata, inputs: files } of inputs) requireReadable(metadata, files)
}

/** Writes the result of a query over the rows of its inputs; each input is a view with its name. */
export async function appendFrom(
  run: DuckDbRun,
  task: AppendFromTask,
  options: EngineRunOptions,
): Promise<AppendFromResult> {
  const counts = { rowsRead: 0, rowsDeleted: 0, bytes: 0 }
  await openViews(run, task.inputs, async ({ inputs, isLookup }, source) => {
    if (isLookup === true) return
    counts.rowsRead += source.rowsRead
    counts.rowsDeleted += await source.countDeleted()
    counts.bytes += inputs.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
  })
  if (task.isUntrusted === true) await run.shutIn()
  if (task.secrets !== undefined) run.bind(task.secrets)
  const { rowsRead, rowsDeleted } = counts
  await keepSteps(run, task.steps ?? [])
  const checks = await countChecks(run, task)
  if (checks.some(({ isExceeded }) => isExceeded)) {
    return { files: [], rowsRead, rowsDeleted, rowsWritten: 0, checks, sides: [] }
  }
  const bytesPerRow = rowsRead === 0 ? 0 : counts.bytes / rowsRead
  const { io, query, output, isRepeatable } = task
  const write = (): Promise<readonly DataFile[]> =>
    appendRows(run, { io, query, output, isRepeatable, bytesPerRow }, options)
  const files = await (task.sides === undefined ? write() : dropNewTables(run, write))
  const rowsWritten = files.reduce((sum, { recordCount }) => sum + recordCount, 0)
  const sides = await writeSides(run, task, files)
  return { files, rowsRead, rowsDeleted, rowsWritten, checks, sides }
}

/** Creates a view for each input; `count` counts its rows before that. */
export async function openViews(
  run: DuckDbRun,
  all: readonly QueryInput[],
  count?: (input: QueryInput, source: RowCounts) => Promise<void>,
): Promise<void> {
  for (const [at, input] of inOrder(all).entries()) {
    const context = { run, io: input.io, metadata: input.metadata }
    const { changes } = input
    const found = await (changes === undefined
      ? openRows(context, input, at)
      : openChanged(context, { ...input, changes }, at))
    await count?.(input, found)
    const rows = firstRows(input, namedRows(input, inOrderOf(input, found.sql) ?? noRows(input)))
    if (mustMaterialize(all, input)) await materialize(run, input, rows)
    else await run.execute(`CREATE TEMP VIEW ${quoteName(input.name)} AS ${rows}`)
  }
}

type RowCounts = Pick<RowSource, 'rowsRead' | 'countDeleted'>

/** The rows of an input; `sql` is undefined when it has no files. */
interface OpenedRows extends RowCounts {
  readonly sql: string | undefined
}

async function openRows(
  context: StageContext,
  { inputs, fields, isOrdered = false }: QueryInput,
  at: number,
): Promise<OpenedRows> {
  const source = await RowSource.create(context, await openInputs(context, inputs, `d${at}_`))
  const sql = inputs.length === 0 ? undefined : source.liveRows({ fields, withPosition: isOrdered })
  return { sql, rowsRead: source.rowsRead, countDeleted: () => source.countDeleted() }
}

/** Changed rows; none counts as deleted, because a deleted row is a row of the result. */
async function openChanged(
  context: StageContext,
  input: QueryInput & { readonly changes: ChangesRead },
  at: number,
): Promise<OpenedRows> {
  const sql = await openChanges(context, input, `lockhouse_d${at}_`)
  const rowsRead = input.inputs.reduce((sum, { dataFile }) => sum + dataFile.recordCount, 0)
  return { sql, rowsRead, countDeleted: () => Promise.resolve(0) }
}

/**
 * Deletes are loaded under fixed names, so of several inputs those with deletes are read at once, and first. So are those of
 * which only some rows are read, because another reading may find other rows.
 */
function mustMaterialize(all: readonly QueryInput[], input: QueryInput): boolean {
  return input.maxRows !== undefined || (all.length > 1 && hasDeletes(input))
}

function inOrder(inputs: readonly QueryInput[]): readonly QueryInput[] {
  const rank = (input: QueryInput): number => Number(mustMaterialize(inputs, input))
  return inputs.toSorted((a, b) => rank(b) - rank(a))
}

function hasDeletes({ inputs, changes }: QueryInput): boolean {
  return changes !== undefined || inputs.some(({ deletes }) => deletes.length > 0)
}

/** Reads the rows of an input into a table, and clears away what they were read from. */
async function materialize(run: DuckDbRun, input: QueryInput, rows: string): Promise<void> {
  const before = await temporaryTables(run)
  await run.execute(`CREATE TEMP TABLE ${quoteName(input.name)} AS ${rows}`)
  const inputs = new Set(before.filter((name) => name.startsWith(KEPT)))
  for (const name of before) if (!inputs.has(name)) await run.execute(`DROP TABLE ${quoteName(name)}`)
  await run.execute(`ALTER TABLE ${quoteName(input.name)} RENAME TO ${quoteName(KEPT + input.name)}`)
  await run.execute(`CREATE TEMP VIEW ${quoteName(input.name)} AS SELECT * FROM ${quoteName(KEPT + input.name)}`)
  const staged = (await readdir(run.folder)).filter((name) => name !== SPILL_FOLDER)
  for (const name of staged) await rm(join(run.folder, name), { recursive: true, force: true })
}

/** Prefix of the names of tables with the rows of an input. */
const KEPT = 'lockhouse_rows_of_'

/** Rows in the order of their files and positions, or of their changes: a row that disappears comes before one that appears. */
function inOrderOf({ fields, isOrdered = false, changes }: QueryInput, sql: string | undefined): string | undefined {
  if (sql === undefined || (changes === undefined && !isOrdered)) return sql
  const columns = fields.map(({ id }) => `r.c${id}`).join(', ')
  if (!isOrdered) return `SELECT ${columns} FROM (${sql}) AS r`
  const order =
    changes === undefined
      ? 'r.p'
      : `r.c${CHANGE_ORDINAL.id}, r.c${CHANGE_TYPE.id} IN ('insert', 'update_after'), r.${POSITION}`
  return `SELECT ${columns} FROM (${sql}) AS r ORDER BY ${order}`
}

function namedRows({ columnsBy, fields }: QueryInput, rows: string): string {
  if (columnsBy === 'id') return rows
  const columns = structMembers(fields).map(([name, field]) => `c${field.id} AS ${quoteName(name)}`)
  return `SELECT ${columns.join(', ')} FROM (${rows})`
}

function firstRows({ maxRows }: QueryInput, rows: string): string {
  return maxRows === undefined ? rows : `SELECT * FROM (${rows}) LIMIT ${maxRows}`
}

function noRows({ fields }: QueryInput): string {
  const columns = fields.map((field) => `${nullLiteral(field.type)} AS c${field.id}`)
  return `SELECT ${columns.length === 0 ? '1 AS one' : columns.join(', ')} WHERE false`
}
