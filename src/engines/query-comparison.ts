import type { QueryStep, RowCheck, RowCheckResult } from './row-checks.ts'
import type { ResultColumn } from './sql-sandbox.ts'

/** One of two queries over the same inputs. */
export interface ComparedQuery {
  /** One SELECT over the inputs, made of parts that `SqlSandbox.check` has accepted. */
  readonly query: string
  /** What is computed once before the query; no step of the other query has the same name. Default: nothing. */
  readonly steps?: readonly QueryStep[]
  /** Counted, whether or not more rows fail than a check allows; default: none. */
  readonly checks?: readonly RowCheck[]
  /** The columns of its result, from `SqlSandbox.describe`; their names differ by more than case. */
  readonly columns: readonly ResultColumn[]
}

/** Limits of a `CompareTask`; the engine's own limits apply too if they are lower. */
export interface CompareLimits {
  readonly seconds: number
  readonly memoryBytes: number
  /** Of everything that both queries keep on disk. */
  readonly diskBytes: number
}

/** Limits of the rows that a comparison returns, for each of the two results. */
export interface SampleBounds {
  readonly maxRows: number
  /** Of the rows as JSON; at least one row comes. */
  readonly maxBytes: number
  /** Longer texts are truncated; nested values become texts. */
  readonly maxTextLength: number
}

/** The result of one of the queries. */
export interface ComparedResult {
  readonly rows: number
  /** Number of NULLs, by column. */
  readonly nulls: readonly number[]
  /** Number of different values other than NULL, by column. */
  readonly distinct: readonly number[]
  /** Rows that the other result does not have, or has less often. */
  readonly rowsOnlyHere: number
  /** Some of these rows, each once, as in a `QueryAnswer`. */
  readonly sample: readonly (readonly unknown[])[]
  /** Whether the sample lacks rows or parts of values because of `maxBytes` or `maxTextLength`. */
  readonly isSampleCut: boolean
  /** One per check of the query, without examples. */
  readonly checks: readonly RowCheckResult[]
}

/** What two queries return, and how it differs. */
export interface QueryComparison {
  /** Number of rows of each input. */
  readonly inputRows: readonly number[]
  readonly candidate: ComparedResult
  /** Undefined when there is no base, or when it failed. */
  readonly base?: ComparedResult
  /** Why the base failed on a value of these rows; the candidate is then compared with nothing. */
  readonly baseProblem?: string
  readonly isDistinctExact: boolean
  /** The limits that applied. */
  readonly limits: CompareLimits
}

/** A column that at least one of two results has. */
export interface ColumnMatch {
  readonly name: string
  /** Its index in each of the results. */
  readonly candidate?: number
  readonly base?: number
  /** How its values are compared: those of different types as text, those of a single result not at all. */
  readonly comparison: 'value' | 'text' | 'none'
}

/** Pairs the columns of two results by name, ignoring case: those of the candidate first, in order. */
export function matchColumns(
  candidate: readonly ResultColumn[],
  base: readonly ResultColumn[],
): readonly ColumnMatch[] {
  const left = new Map(base.map(({ name }, at) => [name.toLowerCase(), at]))
  const matches = candidate.map(({ name, engineType }, at): ColumnMatch => {
    const partner = left.get(name.toLowerCase())
    if (partner === undefined) return { name, candidate: at, comparison: 'none' }
    left.delete(name.toLowerCase())
    const comparison = base[partner]?.engineType === engineType ? 'value' : 'text'
    return { name, candidate: at, base: partner, comparison }
  })
  const rest = [...left.values()].map((at): ColumnMatch => ({
    name: base[at]?.name ?? '',
    base: at,
    comparison: 'none',
  }))
  return [...matches, ...rest]
}
