import type { DataFile } from '../iceberg/manifest/manifest.ts'

/** The rows that a rewrite had to write, compared by value with those of its new files. */
export interface ValueComparison {
  readonly isEqual: boolean
  /** Names of the columns that were compared, row lineage included. */
  readonly columns: readonly string[]
  /** When not equal: the columns that differ. None: each column has its values, but not in the same rows. */
  readonly differing: readonly string[]
  readonly milliseconds: number
}

export interface RewriteResult {
  /** New data files, ready for a manifest; content `data`, spec and partition set. */
  readonly files: readonly DataFile[]
  /** Rows physically in the inputs. */
  readonly rowsRead: number
  /** Rows removed by position deletes, deletion vectors and equality deletes, counted independently of `rowsWritten`. */
  readonly rowsDeleted: number
  /** Rows physically in the outputs, counted from their footers. */
  readonly rowsWritten: number
  /** Present if the task requested it. The files are in their final locations in any case: the caller decides. */
  readonly values?: ValueComparison
}
