import type { AppendFromTask, CompareTask, QueryBounds, QueryInput } from '../../engine.ts'
import type { SideOutput } from '../../output-spec.ts'
import type { RowCheckResult } from '../../row-checks.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { RelationShape, ResultColumn, UserSql } from '../../sql-sandbox.ts'
import type { OutputSpec } from '../../output-spec.ts'
import type { SandboxBounds } from '../session/sandbox-settings.ts'

/** An input whose files are all on this machine: pairs of location and path. */
export interface WorkerInput extends Omit<QueryInput, 'io'> {
  readonly files: readonly (readonly [location: string, path: string])[]
}

/** Folder and limits of a query; the folder exists and is empty. */
interface RunPlace {
  readonly folder: string
  readonly bounds: SandboxBounds
}

/** How data files are written; the parent chooses their locations. */
export type WorkerOutput = Omit<OutputSpec, 'newDataLocation'>

/** Rows for another table. */
export type WorkerSide = Pick<SideOutput, 'query'> & { readonly output: WorkerOutput }

/** A request to a worker, which answers one at a time. */
export type WorkerRequest =
  | { readonly op: 'check' | 'references' | 'syntax'; readonly sql: UserSql }
  | { readonly op: 'tables'; readonly query: string }
  | { readonly op: 'describe'; readonly relations: readonly RelationShape[]; readonly query: string }
  | (RunPlace & {
      readonly op: 'query'
      readonly inputs: readonly WorkerInput[]
      readonly query: string
      readonly columns: readonly ResultColumn[]
      readonly limits: QueryBounds
    })
  | (RunPlace & {
      readonly op: 'compare'
      readonly inputs: readonly WorkerInput[]
      readonly task: Omit<CompareTask, 'inputs'>
    })
  | (RunPlace & {
      readonly op: 'append'
      readonly inputs: readonly WorkerInput[]
      readonly task: Pick<AppendFromTask, 'query' | 'isRepeatable' | 'secrets' | 'steps' | 'checks'>
      readonly output: WorkerOutput
      readonly sides: readonly WorkerSide[]
    })

/** A new file in the folder of a run, before it is moved; `file.filePath` is not used. */
export interface WrittenFile {
  /** Below the folder of the run. */
  readonly name: string
  /** Counts the new files of the partition. */
  readonly index: number
  readonly file: DataFile
}

/** The answer to `append`. */
export interface WrittenFiles {
  readonly written: readonly WrittenFile[]
  /** The files of each side of the task; none if a check is exceeded. */
  readonly sides: readonly (readonly WrittenFile[])[]
  readonly checks: readonly RowCheckResult[]
  readonly rowsRead: number
  readonly rowsDeleted: number
}

/** A message of a worker: first that it is ready, then one answer per request. */
export type WorkerReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly code: string; readonly text: string }

/** Bytes of a request. */
export const MAX_REQUEST_BYTES = 256 * 1_048_576
