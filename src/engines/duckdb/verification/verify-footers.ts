import { IcebergError } from '../../../iceberg/errors.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { inspectFiles } from '../scan/file-schema.ts'
import type { ScanInput } from '../scan/inputs.ts'
import type { StageContext } from '../scan/stage-context.ts'

import { footerCounts, tableLeaves } from './footer-counts.ts'
import type { CountedFile, LeafCounts, TableLeaf } from './footer-counts.ts'

/** A rewrite whose new files are written, but not in place yet. */
export interface WrittenFooters {
  readonly inputs: readonly ScanInput[]
  /** Paths of the new files on this machine. */
  readonly paths: readonly string[]
  /** The columns of the table. */
  readonly fields: readonly NestedField[]
  /** Rows of the inputs that deletes remove. */
  readonly rowsDeleted: number
  /** Rows of the inputs, deleted ones included. */
  readonly rowsRead: number
}

/**
 * Compares the footers of replaced and new files leaf by leaf: entries and values that are not null. The footers are read
 * without the engine, so a column that its scan loses is detected although a second scan loses it too. Without deletes the
 * counts must be equal; with deletes the new files may lack at most the entries of the deleted rows. A count that a footer
 * lacks is a range, and ranges must overlap. Throws `ROWS_NOT_CONSERVED` with the first column that differs.
 */
export async function verifyFooters(context: StageContext, written: WrittenFooters): Promise<void> {
  const { fields, inputs, paths, rowsRead, rowsDeleted } = written
  const { run, metadata } = context
  const sources = inputs.map(({ path, file, shape }): CountedFile => ({ path, shape, location: file.filePath }))
  const inspected = await inspectFiles(run, paths)
  const outputs = [...inspected].map(([path, { shape }]): CountedFile => ({ path, shape, location: 'a new file' }))
  const before = await footerCounts(sources, fields, metadata)
  const after = await footerCounts(outputs, fields, metadata)
  for (const leaf of tableLeaves(fields)) {
    const expected = withoutDeleted(leaf, before.get(leaf.id) ?? NONE, { rowsRead, rowsDeleted })
    requireOverlap(leaf, expected, after.get(leaf.id) ?? NONE)
  }
}

const NONE: LeafCounts = { values: { least: 0, most: 0 }, present: { least: 0, most: 0 } }

/** What is left of the counts when deletes have removed rows: any of them, of any length. */
function withoutDeleted(
  { isRepeated }: TableLeaf,
  { values, present }: LeafCounts,
  { rowsRead, rowsDeleted }: Pick<WrittenFooters, 'rowsRead' | 'rowsDeleted'>,
): LeafCounts {
  if (rowsDeleted === 0) return { values, present }
  const most = values.most - rowsDeleted
  if (isRepeated) return { values: { least: rowsRead - rowsDeleted, most }, present: { least: 0, most: present.most } }
  return {
    values: { least: values.least - rowsDeleted, most },
    present: { least: Math.max(0, present.least - rowsDeleted), most: present.most },
  }
}

function requireOverlap({ path }: TableLeaf, expected: LeafCounts, found: LeafCounts): void {
  for (const part of ['values', 'present'] as const) {
    if (expected[part].least <= found[part].most && found[part].least <= expected[part].most) continue
    throw new IcebergError(
      'ROWS_NOT_CONSERVED',
      `the rewrite was abandoned and nothing was changed: by their footers, the replaced files have ${counted(expected)} in column ` +
        `${path}, and the new files have ${counted(found)}`,
    )
  }
}

function counted({ values, present }: LeafCounts): string {
  return `${text(values)} entries of which ${text(present)} are not null`
}

function text({ least, most }: LeafCounts['values']): string {
  return least === most ? String(least) : `${least} to ${most}`
}
