import type { OverlapFacts } from '../../domain/tables/table-health.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { compareValues, formatValue } from '../../iceberg/values/values.ts'
import { curveLayout, type Layout, type LayoutColumn, tableLayout } from '../clustering/layout.ts'
import type { FileRange } from '../clustering/overlap.ts'
import { sumTableFiles } from '../table-files.ts'
import { type BoundScale, boundScale } from './bound-scale.ts'
import { measureLayout, NO_RANGES } from './table-overlap.ts'
import type { TotalsSource } from './totals/totals-source.ts'

/** The bounds of a column in one data file. */
export interface FileBar {
  readonly lower: string
  readonly upper: string
  /** Where the bounds lie between the least and the greatest bound of all files: 0 to 1. */
  readonly start: number
  readonly end: number
  /** Rows of the file, before deletes. */
  readonly rows: number
  readonly bytes: number
}

/** The bounds of a column in the data files of a table, and how much they overlap. */
export interface FileBounds {
  /** The columns by which the table is laid out. */
  readonly layout: { readonly kind: Layout['kind']; readonly columns: readonly string[] } | undefined
  readonly dataFiles: number
  /** Undefined: the table has no layout, and no column was asked for. */
  readonly shown: ShownBounds | undefined
}

export interface ShownBounds {
  readonly column: LayoutColumn
  readonly scale: BoundScale['kind']
  /** Files with both bounds. */
  readonly boundedFiles: number
  /** The least and the greatest bound; undefined without files that have bounds. */
  readonly range: { readonly lower: string; readonly upper: string } | undefined
  /** As the health factor measures it, for this column alone; a file and its overlaps are of one partition. */
  readonly overlap: OverlapFacts
  /** By their lower bounds; of many files, each n-th in this order. */
  readonly bars: readonly FileBar[]
}

export interface FileBoundsRequest {
  /** A column path; undefined: the first column of the layout. */
  readonly column: string | undefined
  readonly maxBars: number
}

/**
 * Reads the bounds of a column from the manifests of the current snapshot; no data file. Errors: `NO_SUCH_COLUMN`, `INVALID_ARGUMENT`
 * for a column without an order, `LIMIT_EXCEEDED` for more data files than the health report measures; those of manifests and FileIO.
 */
export async function readFileBounds(
  table: Table,
  totals: TotalsSource,
  { column: name, maxBars }: FileBoundsRequest,
): Promise<FileBounds> {
  const { metadata } = table
  const own = tableLayout(metadata)
  const column =
    name === undefined ? own?.columns[0] : curveLayout({ curve: 'zorder', columns: [name] }, metadata).columns[0]
  const counted = await totals.read(table)
  const counts = await sumTableFiles(metadata, counted)
  const found = {
    layout: own && { kind: own.kind, columns: own.columns.map((one) => one.name) },
    dataFiles: counts.facts.dataFiles.count,
  }
  if (column === undefined) return { ...found, shown: undefined }
  // sorted files share the value at which one ends and the next begins
  const isSorted = own?.kind === 'sort' && own.columns[0]?.id === column.id
  const layout: Layout = { kind: isSorted ? 'sort' : 'zorder', columns: [column] }
  const manifests = counted.map(({ manifest }) => manifest)
  const measured = await measureLayout(table, { layout, counts, manifests, known: NO_RANGES })
  const overlap = measured?.files.facts.overlap
  if (measured === undefined || overlap === undefined) {
    throw new IcebergError(
      'LIMIT_EXCEEDED',
      `the table has ${found.dataFiles} data files, too many to compare their bounds`,
    )
  }
  const { records, sizes } = counts.files
  const ranges = [...measured.read.ranges.values()].flatMap((of): readonly FileRange[] => of[0] ?? [])
  const files = ranges.flatMap((range, at) =>
    range === undefined ? [] : [{ ...range, rows: records[at] ?? 0, bytes: sizes[at] ?? 0 }],
  )
  return { ...found, shown: { column, overlap, boundedFiles: files.length, ...drawBars(column, files, maxBars) } }
}

type BoundedFile = NonNullable<FileRange> & Pick<FileBar, 'rows' | 'bytes'>

function drawBars(
  { type }: LayoutColumn,
  files: readonly BoundedFile[],
  maxBars: number,
): Pick<ShownBounds, 'scale' | 'range' | 'bars'> {
  const compare = (a: FileRange & object, b: FileRange & object): number =>
    compareValues(type, a.lower, b.lower) || compareValues(type, a.upper, b.upper)
  const sorted = files.toSorted(compare)
  const scale = boundScale(type, sorted)
  const count = Math.min(sorted.length, maxBars)
  const bars = Array.from({ length: count }, (_, at) => {
    const file = sorted[Math.floor((at * sorted.length) / count)] as BoundedFile
    const { lower, upper, rows, bytes } = file
    const [start, end] = [scale.place(lower), scale.place(upper)]
    return { lower: formatValue(type, lower), upper: formatValue(type, upper), start, end, rows, bytes }
  })
  const range = scale.range && {
    lower: formatValue(type, scale.range.lower),
    upper: formatValue(type, scale.range.upper),
  }
  return { scale: scale.kind, range, bars }
}
