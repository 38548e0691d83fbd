import { IcebergError, isIcebergError } from '../../../iceberg/errors.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { AppendTask } from '../../engine.ts'
import type { EngineRunOptions } from '../../run-options.ts'
import type { OutputSpec } from '../../output-spec.ts'

import type { DuckDbRun } from '../session/session.ts'
import { orderClaims, placeFiles } from './output-files.ts'
import type { PlacedFile } from './output-files.ts'
import { leafColumns } from './output-layout.ts'
import { writeRows } from './partitioned-writer.ts'
import { duckType } from '../session/type-mapping.ts'

/** Properties of a query. */
export interface QueryRows extends AppendTask {
  /** Whether it returns the same rows each time it runs; default false. */
  readonly isRepeatable?: boolean
  /** A guess of how large rows are in a file, for the sizes of row groups. */
  readonly bytesPerRow?: number
}

/** Writes the rows of a query as new data files. The query runs once, unless it is marked as repeatable. */
export async function appendRows(
  run: DuckDbRun,
  { io, query, output, isRepeatable = false, bytesPerRow = 0 }: QueryRows,
  { onProgress }: EngineRunOptions,
): Promise<readonly DataFile[]> {
  const { fields } = output.schema
  const text = query.replace(/[\s;]+$/, '')
  await requireColumns(
    run,
    text,
    fields.map((field) => `c${field.id}`),
  )
  const columns = fields.map((field) => `CAST(c${field.id} AS ${duckType(field.type)}) AS c${field.id}`)
  let rows = `SELECT ${columns.join(', ')} FROM (\n${text}\n)`
  if (output.partitionSpec.fields.length > 0 && !isRepeatable) {
    // partitions are found in one pass and written in another, between which random values would change
    await run.execute(`CREATE TEMP TABLE appended AS ${rows}`)
    rows = 'SELECT * FROM appended'
  }
  const copied = await writeRows(run, { rows, fields, output, bytesPerRow })
  requireValues(copied, output)
  const { files, rowsWritten } = await placeFiles({ run, io, output, fields, ...orderClaims({}) }, copied)
  onProgress?.({ rowsDone: rowsWritten, rowsTotal: rowsWritten })
  return files
}

async function requireColumns(run: DuckDbRun, query: string, names: readonly string[]): Promise<void> {
  const found = await resultColumns(run, query)
  const present = new Set(found)
  const missing = names.filter((name) => !present.has(name))
  if (missing.length === 0) return
  throw new IcebergError(
    'INVALID_ARGUMENT',
    `the query has no column ${missing.join(', ')}; it has ${found.join(', ')}`,
  )
}

async function resultColumns(run: DuckDbRun, query: string): Promise<readonly string[]> {
  try {
    const result = await run.result(`SELECT * FROM (\n${query}\n) LIMIT 0`)
    return result.columnNames()
  } catch (error) {
    if (!isIcebergError(error, 'ENGINE_FAILED')) throw error
    throw new IcebergError('INVALID_ARGUMENT', `the query cannot be run: ${error.message}`, { cause: error })
  }
}

/** Readers rely on required columns having no nulls. */
export function requireValues(files: readonly PlacedFile[], { schema }: OutputSpec): void {
  for (const { field, statisticsKey, topLevelId } of leafColumns(schema.fields)) {
    if (!field.required || field.id !== topLevelId) continue
    const nulls = files.some(({ copied }) => copied.columns.get(statisticsKey)?.get('null_count') !== '0')
    if (nulls)
      throw new IcebergError('INVALID_ARGUMENT', `the query returns null for the required column ${field.name}`)
  }
}
