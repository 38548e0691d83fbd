import { OPERATIONS } from '../../domain/tables/operations.ts'
import { isStrategy, STRATEGIES, type Strategy } from '../../domain/tables/strategies.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { propertyCount } from '../../iceberg/metadata/metadata.ts'
import { clusterByProperty, CLUSTER_BY_PROPERTY } from '../clustering/layout.ts'

/** What is verified before a commit: that rows have the same values, or only that their number is the same. */
export type Verification = 'values' | 'counts'

/**
 * What happens to deletes that others commit for files that are being rewritten: they are carried over to the new files, or
 * the rewrite ends with `COMMIT_CONFLICT`.
 */
export type ConflictHandling = 'carry_over' | 'fail'

/**
 * How rows get into new files: `copy` copies row groups byte for byte, `rewrite` reads and writes rows. `auto` copies where later reads do
 * not become slower, and rewrites the rest.
 */
export type CompactionMethod = (typeof METHODS)[number]
const METHODS = ['auto', 'rewrite', 'copy'] as const

/** Smaller row groups make later reads slower than rewritten ones (docs/adr/0022-row-group-copy.md). */
const DEFAULT_MIN_ROW_GROUP_BYTES = 8 * 1_048_576

/** Validated options of a compaction; sizes in bytes. Names and defaults are those of Iceberg's `rewrite_data_files`. */
export interface CompactionOptions {
  readonly method: CompactionMethod
  /** Smaller row groups are not copied. */
  readonly minRowGroupSizeBytes: number
  readonly strategy: Strategy
  /** Text such as `a ASC NULLS FIRST, b`; undefined with strategy `sort`: the table's own order. */
  readonly sortOrder?: string
  /** With strategies `zorder` and `hilbert`: names of the columns of the curve, at least one. */
  readonly columns?: readonly string[]
  /** Conditions on columns; only files that may hold matching rows are rewritten. */
  readonly where?: string
  readonly targetFileSizeBytes: number
  readonly minFileSizeBytes: number
  readonly maxFileSizeBytes: number
  readonly minInputFiles: number
  readonly rewriteAll: boolean
  readonly deleteFileThreshold: number
  readonly deleteRatioThreshold: number
  readonly maxFilesToRewrite?: number
  readonly maxBytesToRewrite?: number
  readonly maxFileGroupSizeBytes: number
  readonly maxFileGroupInputFiles: number
  readonly partialProgress: boolean
  readonly partialProgressMaxCommits: number
  readonly maxConcurrentFileGroupRewrites: number
  readonly verify: Verification
  readonly onConflict: ConflictHandling
}

/** Target size of data files when neither the request nor the table sets one. */
export const TARGET_PROPERTY = 'write.target-file-size-bytes'
/** Larger than any real file; the max file size, 1.8 times this, is still an exact number. */
const MAX_TARGET_FILE_SIZE_BYTES = 2 ** 52
const DEFAULT_TARGET_FILE_SIZE_BYTES = 536_870_912
/** Share of the target size under which a file is small, and over which it is large. */
export const MIN_FILE_SIZE_RATIO = 0.75
const MAX_FILE_SIZE_RATIO = 1.8
const INT_MAX = 2_147_483_647

/** Fields of the API, without the engine, which is chosen before; and options that only code sets. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...OPERATIONS.compact.request.fields.filter((field) => field !== 'engine'),
  'max_file_group_size_bytes',
  'max_file_group_input_files',
  'partial_progress_max_commits',
  'max_concurrent_file_group_rewrites',
])

type Request = Readonly<Record<string, unknown>>

/**
 * Reads the options of a compaction request (wire names, without `table`, `dry_run` and `plan_id`) over the table's
 * properties. Throws `INVALID_ARGUMENT` that names the field, `INVALID_METADATA` that names the property.
 */
export function parseCompactionOptions(
  request: Request,
  properties: Readonly<Record<string, string>>,
): CompactionOptions {
  for (const field of Object.keys(request)) {
    if (!KNOWN_FIELDS.has(field)) throw invalid(field, 'is not an option of compaction')
  }
  const maxFilesToRewrite = readInteger(request, 'max_files_to_rewrite', { min: 1 })
  const maxBytesToRewrite = readInteger(request, 'max_bytes_to_rewrite', { min: 1 })
  return {
    ...readMethod(request),
    ...readStrategy(request, properties),
    ...optional('where', readText(request, 'where')),
    ...readSizes(request, properties),
    minInputFiles: readInteger(request, 'min_input_files', { min: 1 }) ?? 5,
    rewriteAll: readBoolean(request, 'rewrite_all') ?? false,
    deleteFileThreshold: readInteger(request, 'delete_file_threshold', { min: 0 }) ?? INT_MAX,
    deleteRatioThreshold: readRatio(request, 'delete_ratio_threshold') ?? 0.3,
    ...optional('maxFilesToRewrite', maxFilesToRewrite),
    ...optional('maxBytesToRewrite', maxBytesToRewrite),
    maxFileGroupSizeBytes: readInteger(request, 'max_file_group_size_bytes', { min: 1 }) ?? 107_374_182_400,
    maxFileGroupInputFiles: readInteger(request, 'max_file_group_input_files', { min: 1 }) ?? Number.MAX_SAFE_INTEGER,
    partialProgress: readBoolean(request, 'partial_progress') ?? false,
    partialProgressMaxCommits: readInteger(request, 'partial_progress_max_commits', { min: 1 }) ?? 10,
    maxConcurrentFileGroupRewrites: readInteger(request, 'max_concurrent_file_group_rewrites', { min: 1 }) ?? 2,
    verify: readVerification(request),
    onConflict: readConflictHandling(request),
  }
}

/**
 * The table's target size of data files, in bytes (`write.target-file-size-bytes`), at most 4 PiB.
 * Throws `INVALID_METADATA` when the property is not a positive integer.
 */
export function targetFileSizeBytes(properties: Readonly<Record<string, string>>): number {
  const bytes = propertyCount({ properties }, TARGET_PROPERTY, DEFAULT_TARGET_FILE_SIZE_BYTES)
  if (bytes > 0) return Math.min(bytes, MAX_TARGET_FILE_SIZE_BYTES)
  throw new IcebergError(
    'INVALID_METADATA',
    `table property ${TARGET_PROPERTY} is "${bytes}"; set it to a positive number of bytes`,
  )
}

function readSizes(request: Request, properties: Readonly<Record<string, string>>) {
  const target = readInteger(request, 'target_file_size_bytes', { min: 1 }) ?? targetFileSizeBytes(properties)
  const min = readInteger(request, 'min_file_size_bytes', { min: 0 }) ?? Math.floor(target * MIN_FILE_SIZE_RATIO)
  const max = readInteger(request, 'max_file_size_bytes', { min: 1 }) ?? Math.floor(target * MAX_FILE_SIZE_RATIO)
  if (min >= target) {
    throw invalid(
      'min_file_size_bytes',
      `(${min}) must be below target_file_size_bytes (${target}): all new files would be too small again`,
    )
  }
  if (max <= target) {
    throw invalid(
      'max_file_size_bytes',
      `(${max}) must be above target_file_size_bytes (${target}): all new files would be too large again`,
    )
  }
  return { targetFileSizeBytes: target, minFileSizeBytes: min, maxFileSizeBytes: max }
}

type Layout = Pick<CompactionOptions, 'strategy' | 'sortOrder' | 'columns'>

function readStrategy(request: Request, properties: Readonly<Record<string, string>>): Layout {
  const sortOrder = readText(request, 'sort_order')
  const strategy = request['strategy'] ?? (sortOrder === undefined ? 'binpack' : 'sort')
  if (!isStrategy(strategy)) throw invalid('strategy', `must be one of ${STRATEGIES.join(', ')}`)
  if (strategy !== 'sort' && sortOrder !== undefined) {
    throw invalid('sort_order', 'can only be given with strategy "sort"')
  }
  if (sortOrder !== undefined && /\bzorder\s*\(/i.test(sortOrder)) {
    throw invalid('sort_order', 'has column names only: for a Z-order, give strategy "zorder" and columns')
  }
  return {
    strategy,
    ...optional('sortOrder', sortOrder),
    ...optional('columns', readColumns(request, { strategy, properties })),
  }
}

function readColumns(
  request: Request,
  { strategy, properties }: { readonly strategy: Strategy; readonly properties: Readonly<Record<string, string>> },
): readonly string[] | undefined {
  const given = readNames(request, 'columns')
  if (strategy === 'binpack' || strategy === 'sort') {
    if (given === undefined) return undefined
    throw invalid('columns', 'can only be given with strategy "zorder" or "hilbert"; strategy "sort" takes sort_order')
  }
  const columns = given ?? clusterByProperty(properties)?.columns
  if (columns !== undefined) return columns
  throw invalid(
    'columns',
    `must be given with strategy "${strategy}": the table has no property ${CLUSTER_BY_PROPERTY}`,
  )
}

function readNames(request: Request, field: string): readonly string[] | undefined {
  const value = request[field] ?? undefined
  if (value === undefined) return undefined
  const isList = Array.isArray(value) && value.length > 0
  if (isList && value.every((name): name is string => typeof name === 'string' && name !== '')) return value
  throw invalid(field, 'must be a list of at least one column name')
}

function readMethod(request: Request): Pick<CompactionOptions, 'method' | 'minRowGroupSizeBytes'> {
  const method = METHODS.find((known) => known === (request['method'] ?? 'auto'))
  if (method === undefined) throw invalid('method', `must be one of ${METHODS.join(', ')}`)
  const layout = request['strategy'] ?? (request['sort_order'] == null ? 'binpack' : 'sort')
  if (method === 'copy' && layout !== 'binpack') {
    throw invalid('method', 'can only be "copy" with strategy "binpack": the others change the order of rows')
  }
  const minRowGroupSizeBytes = readInteger(request, 'min_row_group_size_bytes', { min: 0 })
  return { method, minRowGroupSizeBytes: minRowGroupSizeBytes ?? DEFAULT_MIN_ROW_GROUP_BYTES }
}

function readVerification(request: Request): Verification {
  const verify = request['verify'] ?? 'values'
  if (verify !== 'values' && verify !== 'counts') throw invalid('verify', 'must be "values" or "counts"')
  return verify
}

function readConflictHandling(request: Request): ConflictHandling {
  const handling = request['on_conflict'] ?? 'carry_over'
  if (handling !== 'carry_over' && handling !== 'fail') throw invalid('on_conflict', 'must be "carry_over" or "fail"')
  return handling
}

function readInteger(request: Request, field: string, { min }: { min: number }): number | undefined {
  const value = request[field] ?? undefined
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw invalid(field, 'must be an integer')
  if (value < min) throw invalid(field, `is ${value} but must be at least ${min}`)
  return value
}

function readRatio(request: Request, field: string): number | undefined {
  const value = request[field] ?? undefined
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !(value > 0 && value <= 1)) {
    throw invalid(field, 'must be a number above 0 and at most 1')
  }
  return value
}

function readBoolean(request: Request, field: string): boolean | undefined {
  const value = request[field] ?? undefined
  if (value === undefined || typeof value === 'boolean') return value
  throw invalid(field, 'must be true or false')
}

function readText(request: Request, field: string): string | undefined {
  const value = request[field] ?? undefined
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value.trim() === '') throw invalid(field, 'must be non-empty text')
  return value
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  // one computed key cannot be typed as a mapped type
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V }
}

function invalid(field: string, problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `${field} ${problem}`)
}
