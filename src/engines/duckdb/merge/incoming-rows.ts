import { CHANGE_ORDINAL, CHANGE_TYPE, CHANGE_TYPES, type ChangeType } from '../../../iceberg/changes/change-columns.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import { LocalFileIO } from '../../../iceberg/io/local.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import { currentSchema, type TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'
import type { OutputSpec } from '../../output-spec.ts'
import type { RowMergeTask } from '../../engine.ts'
import type { MergeRows } from '../../row-merge.ts'

import { openInputs } from '../scan/inputs.ts'
import { RowSource } from '../scan/row-source.ts'
import type { DuckDbRun } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { quoteText } from '../session/sql-text.ts'
import { nullLiteral } from '../session/value-literal.ts'

/** Counts the rows of a query in their order; an id that the format reserves and does not use. */
const ORDER: NestedField = { id: 2_147_483_500, name: '_order', required: false, type: { kind: 'long' } }

/**
 * Temporary table of the rows that count, one for each key: a column `c<id>` for each column of the table, `o`, a number that identifies
 * the row, and `w`, whether it is written or deletes.
 */
export const INCOMING = 'merge_incoming'
const ALL = 'merge_all'

/** Columns that rows have while they wait. */
const ADDED: readonly NestedField[] = [CHANGE_TYPE, CHANGE_ORDINAL, ORDER]

const SPEC = { specId: 0, fields: [] }
const FILE_BYTES = 512 * 2 ** 20

/** The query of a merge with a column that numbers its rows. */
export function numberedQuery(query: string): string {
  return `SELECT q.*, row_number() OVER () AS c${ORDER.id} FROM (\n${query}\n) AS q`
}

/** Where the rows of a query wait in a folder of this machine until they are merged. */
export function waitingOutput({ metadata }: RowMergeTask, folder: string): OutputSpec {
  let files = 0
  return {
    schema: { schemaId: 0, identifierFieldIds: [], fields: waitingFields(metadata) },
    partitionSpec: SPEC,
    formatVersion: 2,
    targetFileSizeBytes: FILE_BYTES,
    properties: { 'write.parquet.compression-codec': 'snappy' },
    newDataLocation: () => `${folder}/rows-${(files += 1)}.parquet`,
  }
}

/** A row that deletes need not have values in required columns. */
function waitingFields(metadata: TableMetadata): readonly NestedField[] {
  const fields = currentSchema(metadata).fields.map((field) => ({ ...field, required: false }))
  const taken = fields.find(({ id }) => ADDED.some((column) => column.id === id))
  if (taken !== undefined) {
    throw new IcebergError(
      'UNSUPPORTED',
      `column ${taken.name} has the field id ${taken.id}, which the format reserves`,
    )
  }
  return [...fields, ...ADDED].map((field) => ({ ...field, required: false }))
}

/** Fills {@link INCOMING} with the last row of each key. */
export async function loadIncoming(
  run: DuckDbRun,
  task: RowMergeTask,
  files: readonly DataFile[],
): Promise<Omit<MergeRows, 'rowsRead' | 'rowsDeleted' | 'checks' | 'sides'>> {
  const fields = waitingFields(task.metadata)
  const schema = { schemaId: 0, identifierFieldIds: [], fields }
  const metadata = { ...task.metadata, schemas: [schema], currentSchemaId: 0, partitionSpecs: [SPEC], properties: {} }
  const context = { run, io: new LocalFileIO(), metadata }
  const tasks = files.map((dataFile) => ({ dataFile, sequenceNumber: 0, fileSequenceNumber: 0, deletes: [] }))
  const source = await RowSource.create(context, await openInputs(context, tasks, 'merge_in'), {
    table: 'merge_in_deleted',
    prefix: 'merge_in_p',
  })
  const columns = currentSchema(task.metadata).fields.map(({ id }) => `s.c${id}`)
  const change = `coalesce(s.c${CHANGE_TYPE.id}, 'insert')`
  const wanted = task.appliesDeletes ? 'true' : `${change} NOT IN (${list(DELETING)})`
  const rows = tasks.length === 0 ? emptyRows(fields) : source.liveRows({ fields })
  // in a snapshot, a row disappears before another one with its key appears
  const ordinal = `s.c${CHANGE_ORDINAL.id}`
  const order = `${ordinal} NULLS FIRST, ${ordinal} IS NOT NULL AND ${change} NOT IN (${list(DELETING)}), s.c${ORDER.id}`
  await run.execute(`
    CREATE TEMP TABLE ${ALL} AS
    SELECT ${columns.join(', ')}, row_number() OVER (ORDER BY ${order}) AS o, ${change} AS t FROM (${rows}) AS s WHERE ${wanted}`)
  const keys = task.keyIds.map((id) => `c${id}`)
  await run.execute(`
    CREATE TEMP TABLE ${INCOMING} AS
    SELECT * EXCLUDE (t), t NOT IN (${list(DELETING)}) AS w FROM ${ALL}
    WHERE o IN (SELECT max(o) FROM ${ALL} GROUP BY ${keys.join(', ')})`)
  const isNull = keys.map((key) => `${key} IS NULL`).join(' OR ')
  const [row] = await run.rows(`
    SELECT count(*) AS n, count(*) FILTER (WHERE ${isNull}) AS nulls, (SELECT count(*) FROM ${INCOMING}) AS keys,
      min(t) FILTER (WHERE t NOT IN (${list(CHANGE_TYPES)})) AS unknown FROM ${ALL}`)
  await run.execute(`DROP TABLE ${ALL}`)
  const { n, nulls, keys: different, unknown } = row ?? {}
  return {
    rows: Number(n),
    keys: Number(different),
    nullKeys: Number(nulls),
    unknownChange: unknown === null ? undefined : textOf(unknown),
  }
}

/** Changes after which a row with the key is not there. */
const DELETING: readonly ChangeType[] = ['delete', 'update_before']

function list(types: readonly ChangeType[]): string {
  return types.map(quoteText).join(', ')
}

function emptyRows(fields: readonly NestedField[]): string {
  const columns = fields.map(({ id, type }) => `${nullLiteral(type)} AS c${id}`)
  return `SELECT ${columns.join(', ')} WHERE false`
}
