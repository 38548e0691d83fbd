import { IcebergError } from '../../../iceberg/errors.ts'
import type { RowGroupCopyTask } from '../../row-group-copy.ts'

import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import { readStoredFooter } from '../parquet/stored-footer.ts'
import type { StoredFooter } from '../parquet/stored-footer.ts'
import { pageCodec } from '../recode/page-codec.ts'
import type { DuckDbRun } from '../session/session.ts'
import { codecLevel, codecNumber } from '../write/codec.ts'
import { joinKey } from './joined-footer.ts'
import { LINEAGE, splitLineage } from './lineage-leaves.ts'
import type { SplitFooter } from './lineage-leaves.ts'
import { lineageChecksum, LineageReader, lineageSource } from './lineage-values.ts'
import type { LineageSource } from './lineage-values.ts'
import { LineageWriter } from './lineage-writer.ts'

/** The footers of all inputs, whole and split. */
export interface InputFooters {
  readonly footers: readonly StoredFooter[]
  readonly splits: readonly SplitFooter[]
}

/** GZIP: each runtime has it, and each reader supports it. */
const OTHER_CODEC = 2

/**
 * Finds the row lineage of each input's rows (Iceberg, "Row Lineage"). Undefined when all files have the same schema and store both columns for
 * each row: then these are copied like any others. The values decide, not the counts of the footers. Errors as `lineageSource`.
 */
export async function findAddedLineage(
  run: DuckDbRun,
  { io, inputs }: RowGroupCopyTask,
  { footers, splits }: InputFooters,
): Promise<readonly LineageSource[] | undefined> {
  const sources: LineageSource[] = []
  for (const [at, split] of splits.entries()) {
    const task = inputs[at]
    if (task === undefined) throw new NotCopyableError('a file has no entry in a manifest')
    run.check()
    const { dataFile, sequenceNumber } = task
    const input = { split, firstRowId: dataFile.firstRowId, sequenceNumber }
    sources.push(await lineageSource(run, input, { io, name: `lineage${at}.parquet` }))
  }
  const hasColumns = ({ storedIds }: SplitFooter): boolean => storedIds.size === LINEAGE.length
  const isSame = new Set(footers.map(joinKey)).size === 1
  if (isSame && splits.every(hasColumns) && sources.every(({ isStored }) => isStored)) return undefined
  return sources
}

/** Writes the lineage columns of a new file that has the rows of `sources`; the caller closes the reader. */
export function lineageWriter(
  run: DuckDbRun,
  sources: readonly LineageSource[],
  properties: Readonly<Record<string, string>>,
): { readonly reader: LineageReader; readonly writer: LineageWriter } {
  const wanted = codecNumber(properties)
  const codec = pageCodec(wanted, codecLevel(properties))
  const used = codec ?? pageCodec(OTHER_CODEC, 0)
  if (used === undefined) throw new NotCopyableError('no codec is there for row ids')
  const reader = new LineageReader(run, sources)
  const writer = new LineageWriter(reader, { codec: used, number: codec === undefined ? OTHER_CODEC : wanted })
  return { reader, writer }
}

/** A new file whose lineage columns were written. */
export interface WrittenLineage {
  readonly location: string
  /** Tells the files of one run apart. */
  readonly name: string
  readonly sources: readonly LineageSource[]
}

/**
 * Reads the lineage columns of a new file back through the FileIO, and compares them with those of the replaced rows.
 * `ROWS_NOT_CONSERVED` when they differ.
 */
export async function verifyLineage(
  run: DuckDbRun,
  { io }: RowGroupCopyTask,
  { location, name, sources }: WrittenLineage,
): Promise<void> {
  const split = splitLineage(await readStoredFooter(io, location))
  // without a first row id: only what is stored counts
  const found = await lineageSource(run, { split, firstRowId: undefined, sequenceNumber: 0 }, { io, name })
  const [expected, stored] = [await lineageChecksum(run, sources), await lineageChecksum(run, [found])]
  if (expected === stored) return
  throw new IcebergError(
    'ROWS_NOT_CONSERVED',
    `the copy was abandoned and nothing was changed: new file ${location} has other row ids or sequence numbers than its rows`,
  )
}
