import type { Engine } from '../../../engines/engine.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import { currentSchema } from '../../../iceberg/metadata/metadata.ts'
import type { MeasureSample, SampleRequest } from '../../tables/sample-profile.ts'
import type { FilePlanner } from '../plan-files.ts'
import { type QueryRecorder, recordQuery } from '../record-query.ts'
import { chooseSample, isWhole, rowsToSample, type Sample, sampleRule } from './choose-sample.ts'
import { columnProfileOf, EMPTY_PROFILE, foundIn, type FoundValues } from './column-profile.ts'
import { type ColumnGroup, columnGroups, type MeasuredColumn } from './measured-columns.ts'
import { PROFILE_RESULT, profileSql, SAMPLED_RELATION } from './profile-sql.ts'

export interface MeasureSampleDeps extends QueryRecorder {
  readonly engine: Pick<Engine, 'queryRows'>
  /** Shared with the other readers of tables. */
  readonly planner: FilePlanner
  readonly now: () => Date
}

const SECONDS = 60
const MEMORY_BYTES = 256 * 2 ** 20
const MAX_BYTES = 8 * 2 ** 20
/** More than the most frequent values of a column have as JSON. */
const MAX_TEXT_LENGTH = 20_000

/**
 * Measures samples in the sandbox of user SQL, in one query for each 200 columns, all within the time of a query. Errors are those of
 * the planner and of `Engine.queryRows`: a data file that cannot be read fails the whole sample.
 */
export function createMeasureSample(deps: MeasureSampleDeps): MeasureSample {
  return async (request) => {
    const began = deps.now().getTime()
    const { table, statistics, label, context } = request
    const groups = columnGroups(currentSchema(table.metadata).fields)
    const measured = groups.flatMap(({ columns }) => columns)
    const sample = await planSample(deps.planner, request, measured.length)
    await recordQuery(deps, context, { tables: [label] })
    const found = sample.files.length === 0 ? [] : await runProfiles(deps, { request, sample, groups })
    const { dataFiles: totalFiles, rows: totalRows } = statistics
    const isComplete = isWhole(sample, totalFiles)
    const profiles = found.map(({ column: { fieldId, type }, row, rows }) => {
      const profile = columnProfileOf(row, { type, totalRows: isComplete ? rows : totalRows })
      return [fieldId, profile] as const
    })
    return {
      columns: new Map([...measured.map(({ fieldId }) => [fieldId, EMPTY_PROFILE] as const), ...profiles]),
      facts: {
        sampled_rows: found.length === 0 ? 0 : Math.min(...found.map(({ rows }) => rows)),
        total_rows: totalRows,
        sampled_files: sample.files.length,
        total_files: totalFiles,
        snapshot_id: table.metadata.currentSnapshotId?.toString() ?? null,
        is_complete: isComplete,
        rule: sampleRule(sample, totalFiles),
        duration_ms: deps.now().getTime() - began,
      },
    }
  }
}

async function planSample(
  planner: FilePlanner,
  { label, table, context, signal }: SampleRequest,
  columns: number,
): Promise<Sample> {
  const snapshotId = table.metadata.currentSnapshotId
  const plan = await planner.first({ label, table, snapshotId, user: context.caller.user, signal })
  // of a table with too many files, those of the first manifests are enough to choose from
  await plan.grow(rowsToSample(columns))
  return chooseSample(plan.files, columns)
}

interface ProfileRun {
  readonly request: SampleRequest
  readonly sample: Sample
}

/** A measured column with its part of the result. */
interface FoundColumn {
  readonly column: MeasuredColumn
  readonly row: FoundValues
  /** Rows of the sample. */
  readonly rows: number
}

/** One query after the other: each draws its rows anew. */
async function runProfiles(
  { engine }: MeasureSampleDeps,
  { groups, ...run }: ProfileRun & { readonly groups: readonly ColumnGroup[] },
): Promise<readonly FoundColumn[]> {
  const began = performance.now()
  const found: FoundColumn[] = []
  for (const group of groups) {
    const seconds = SECONDS - (performance.now() - began) / 1000
    if (seconds <= 0) throw new IcebergError('LIMIT_EXCEEDED', `the sample was not measured in ${SECONDS} s`)
    for (const values of await runProfile(engine, { ...run, group, seconds })) {
      const row = foundIn(values)
      const column = group.columns[Number(row('column'))]
      if (column !== undefined) found.push({ column, row, rows: Number(row('rows')) })
    }
  }
  return found
}

interface GroupRun extends ProfileRun {
  readonly group: ColumnGroup
  readonly seconds: number
}

async function runProfile(
  engine: MeasureSampleDeps['engine'],
  { request, sample, group: { columns, fields }, seconds }: GroupRun,
): Promise<readonly (readonly unknown[])[]> {
  const { table, context, signal } = request
  const { io, metadata } = table
  const input = { name: SAMPLED_RELATION, io, metadata, fields, columnsBy: 'id', inputs: sample.files } as const
  const bounds = { maxRows: columns.length, maxBytes: MAX_BYTES, maxTextLength: MAX_TEXT_LENGTH, seconds }
  const { rows, hasMore } = await engine.queryRows(
    {
      inputs: [input],
      query: profileSql(columns, sample),
      columns: PROFILE_RESULT,
      bounds: { ...bounds, memoryBytes: MEMORY_BYTES },
    },
    { signal, owner: context.caller.user },
  )
  if (!hasMore) return rows
  throw new IcebergError('LIMIT_EXCEEDED', `the profile of ${columns.length} columns is larger than ${MAX_BYTES} bytes`)
}
