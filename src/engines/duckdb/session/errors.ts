import { IcebergError, isIcebergError } from '../../../iceberg/errors.ts'
import type { IcebergErrorCode } from '../../../iceberg/errors.ts'

interface ErrorRule {
  readonly pattern: RegExp
  readonly code: IcebergErrorCode
  readonly advice?: string
}

/** First match wins; the texts are those of DuckDB 1.5. */
const RULES: readonly ErrorRule[] = [
  { pattern: /^INTERRUPT|Interrupted!/i, code: 'CANCELLED' },
  {
    pattern: /no space left on device|disk quota exceeded|max_temp_directory_size/i,
    code: 'NO_SPACE',
    advice: 'free space in the scratch directory or the warehouse',
  },
  {
    pattern: /^Out of Memory|std::bad_alloc|failed to allocate|cannot allocate memory/i,
    code: 'LIMIT_EXCEEDED',
    advice: 'raise ENGINE_MEMORY_LIMIT, or lower ENGINE_THREADS or the size of the groups',
  },
  { pattern: /no such file or directory|No files found that match/i, code: 'FILE_NOT_FOUND' },
  { pattern: /permission denied|read-only file system/i, code: 'IO_FAILED' },
  {
    pattern: /^(Parser|Binder|Catalog|Permission|Syntax|INTERNAL|FATAL|Fatal|Not implemented) /i,
    code: 'ENGINE_FAILED',
  },
  {
    pattern: /unsupported page encoding|BYTE_STREAM_SPLIT encoding is only supported/i,
    code: 'UNSUPPORTED',
    advice: 'rewrite the file with another engine',
  },
  {
    pattern: /magic bytes|not a parquet file|too small to be|parquet|thrift|decompress|snappy|zstd|corrupt/i,
    code: 'CORRUPT_FILE',
  },
  { pattern: /^(Invalid Input|Invalid|Conversion|Serialization|Out of Range) Error/i, code: 'CORRUPT_FILE' },
]

/** Context of an engine error, for its message. */
export interface ErrorContext {
  readonly doing: string
  /** The location of the input of a staged path. */
  readonly locationOf: (stagedPath: string) => string | undefined
  /** Folder of this run's staged and new files; never shown. */
  readonly scratch: string
}

/** Turns any error of a query into an `IcebergError` that names the table's file instead of the staged one. */
export function toEngineError(error: unknown, context: ErrorContext): IcebergError {
  if (isIcebergError(error)) return error
  const text = error instanceof Error ? error.message : String(error)
  const rule = RULES.find((candidate) => candidate.pattern.test(text))
  const message = `${context.doing} failed: ${readable(text, context)}`
  return new IcebergError(rule?.code ?? 'ENGINE_FAILED', rule?.advice ? `${message}; ${rule.advice}` : message, {
    cause: error,
  })
}

/** Whether the database refuses all further work after this error and has to be reopened. */
export function isFatal(error: unknown): boolean {
  return error instanceof Error && /^(FATAL|INTERNAL) |database has been invalidated/i.test(error.message)
}

function readable(text: string, { scratch, locationOf }: ErrorContext): string {
  const firstLines = text.split('\n\nLINE ')[0]?.split('\nStack Trace')[0] ?? text
  const paths = new RegExp(`${escapeRegExp(scratch)}[/\\\\][\\w./\\\\-]*`, 'g')
  const named = firstLines.replaceAll(paths, (path) => locationOf(path) ?? path.slice(scratch.length + 1))
  return named.replaceAll(/\s+/g, ' ').trim().slice(0, 600)
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
