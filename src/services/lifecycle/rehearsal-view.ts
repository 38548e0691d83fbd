import {
  type ColumnMatch,
  type ComparedResult,
  matchColumns,
  type QueryComparison,
  type SampleBounds,
} from '../../engines/query-comparison.ts'
import type { RowCheckResult } from '../../engines/row-checks.ts'
import type { ResultColumn } from '../../engines/sql-sandbox.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import type { rehearsal } from '../../schemas/approvals.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import type { GraphRows } from '../../streaming/query/graph-query.ts'
import type { NodeCheck } from '../../streaming/sink/batch-query.ts'
import type { NewestBounds } from '../../streaming/source/newest-batches.ts'
import type { RehearsalPair } from './rehearsal-queries.ts'
import type { RehearsalSource, RehearsalTables } from './rehearsal-sources.ts'

/** A rehearsal as the API returns it. */
export type RehearsalView = Wire<typeof rehearsal>

/** What a rehearsal ran, over which rows, and what came out. */
export interface RehearsalResult {
  readonly approval: ApprovalSummary
  readonly queries: RehearsalPair<GraphRows>
  readonly tables: RehearsalTables
  readonly comparison: QueryComparison
  /** How much was read of each table. */
  readonly bounds: NewestBounds
  readonly sample: SampleBounds
  /** Secrets that had their names as their values. */
  readonly secretNames: readonly string[]
}

/** The result of a base that does not exist or could not run. */
const NO_RESULT: ComparedResult = {
  rows: 0,
  nulls: [],
  distinct: [],
  rowsOnlyHere: 0,
  sample: [],
  isSampleCut: false,
  checks: [],
}

/** The view of a rehearsal. */
export function rehearsalView(result: RehearsalResult): RehearsalView {
  const { approval, queries, comparison } = result
  const { candidate, base = NO_RESULT } = comparison
  const baseColumns = comparison.base === undefined ? [] : (queries.base?.compiled?.columns ?? [])
  return {
    success: true,
    request_id: approval.id,
    candidate: {
      version_id: approval.versionId,
      version: approval.version,
      rows: candidate.rows,
      columns: columnViews(queries.candidate.columns),
      ...checkViews(queries.candidate.checks, candidate),
    },
    base: baseView(result, baseColumns),
    inputs: inputViews(result),
    columns: matchColumns(queries.candidate.columns, baseColumns).map((match) => differenceView(match, result)),
    distinct_counts: comparison.isDistinctExact ? 'exact' : 'approximate',
    rows_only_in_candidate: candidate.rowsOnlyHere,
    rows_only_in_base: base.rowsOnlyHere,
    sample_only_in_candidate: candidate.sample,
    sample_only_in_base: base.sample,
    samples_truncated: candidate.isSampleCut || base.isSampleCut,
    secrets_as_names: result.secretNames,
    limits: limitsView(result),
  }
}

function columnViews(columns: readonly ResultColumn[]) {
  return columns.map((column) => ({ name: column.name, type: typeText(column) }))
}

/** The Iceberg type, or the engine's own name of a type that no table can have. */
function typeText({ type, engineType }: ResultColumn): string {
  return type === undefined ? engineType : formatType(type)
}

function baseView({ queries, comparison }: RehearsalResult, columns: readonly ResultColumn[]): RehearsalView['base'] {
  if (queries.base === undefined) return null
  const { version, isRunning, problem } = queries.base
  const known = { version_id: version.id, version: version.version, is_running: isRunning }
  if (comparison.base === undefined) {
    return {
      ...known,
      rows: null,
      columns: null,
      checks: null,
      rows_dropped: null,
      rows_diverted: null,
      problem: problem ?? comparison.baseProblem ?? null,
    }
  }
  const checks = checkViews(queries.base.compiled?.checks ?? [], comparison.base)
  return { ...known, rows: comparison.base.rows, columns: columnViews(columns), ...checks, problem: null }
}

/** What the check and deduplicate nodes counted; rows of an expectation that would stop the pipeline are among the dropped. */
function checkViews(checks: readonly NodeCheck[], { checks: results }: ComparedResult) {
  const counted = checks.map((check, at) => ({ ...check, ...(results[at] ?? NOT_COUNTED) }))
  const sum = (counts: NodeCheck['counts']): number =>
    counted.reduce((total, check) => total + (check.counts === counts ? check.failed : 0), 0)
  const views = counted.flatMap(({ counts, nodeId, name, failed, total, isExceeded }) =>
    counts === 'expectation' || counts === 'duplicates'
      ? [{ node_id: nodeId, name, failed, total, would_stop: isExceeded }]
      : [],
  )
  return { checks: views, rows_dropped: sum('dropped'), rows_diverted: sum('diverted') }
}

const NOT_COUNTED: RowCheckResult = { total: 0, failed: 0, isExceeded: false }

function inputViews({ tables, comparison }: RehearsalResult): RehearsalView['inputs'] {
  const lookups = new Set(tables.lookups)
  return [...tables.sources, ...tables.lookups].map((source, at) =>
    inputView(source, { isLookup: lookups.has(source), rows: comparison.inputRows[at] ?? 0 }),
  )
}

function inputView(
  { name, files }: RehearsalSource,
  { isLookup, rows }: { readonly isLookup: boolean; readonly rows: number },
): RehearsalView['inputs'][number] {
  return {
    table: name,
    role: isLookup ? 'lookup' : 'source',
    snapshot_ids: files.snapshotIds.map(String),
    files: files.tasks.length,
    rows,
    complete: !files.isCut,
  }
}

function differenceView(
  { name, comparison, ...at }: ColumnMatch,
  { queries, comparison: results }: RehearsalResult,
): RehearsalView['columns'][number] {
  const candidate = columnFacts(at.candidate, queries.candidate.columns, results.candidate)
  const base = columnFacts(at.base, queries.base?.compiled?.columns, results.base)
  return {
    name,
    in_candidate: candidate.type !== null,
    in_base: base.type !== null,
    type_candidate: candidate.type,
    type_base: base.type,
    nulls_candidate: candidate.nulls,
    nulls_base: base.nulls,
    distinct_candidate: candidate.distinct,
    distinct_base: base.distinct,
    comparison,
  }
}

const ABSENT = { type: null, nulls: null, distinct: null }

/** What is known of a column of a result; {@link ABSENT} when the result has no such column. */
function columnFacts(at: number | undefined, columns: readonly ResultColumn[] = [], { nulls, distinct } = NO_RESULT) {
  const column = at === undefined ? undefined : columns[at]
  if (at === undefined || column === undefined) return ABSENT
  return { type: typeText(column), nulls: nulls[at] ?? 0, distinct: distinct[at] ?? 0 }
}

function limitsView({ bounds, sample, comparison: { limits } }: RehearsalResult): RehearsalView['limits'] {
  return {
    batches: bounds.batches,
    files_per_table: bounds.files,
    rows_per_table: bounds.rows,
    bytes_per_table: bounds.bytes,
    seconds: limits.seconds,
    memory_bytes: limits.memoryBytes,
    disk_bytes: limits.diskBytes,
    sample_rows: sample.maxRows,
    sample_bytes: sample.maxBytes,
    sample_text_length: sample.maxTextLength,
  }
}
