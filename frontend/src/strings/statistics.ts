import { formatBytes, formatCount, formatPlural } from './everywhere/units.ts'

/** Text of the statistics of a table. */
export const statistics = {
  needsRole: 'Statistics show values of rows. They require the role Data engineer.',
  title: 'Columns',
  label: (table: string) => `Statistics of the columns of ${table}`,
  filter: 'Filter columns',
  ofManifests: (columns: number, rows: number, files: number) =>
    `${formatPlural(columns, 'column')}. Values, NULLs, sizes and bounds are those that the manifests have of ${formatPlural(files, 'data file')} with ${formatPlural(rows, 'row')}, before deletes.`,
  measure: 'Measure a sample',
  again: 'Measure again',
  cancel: 'Cancel',
  measuring: 'Measuring a sample',
  willRead: (files: number, chosen: number, { bytes, rows }: { readonly bytes: number; readonly rows: number }) =>
    `Reads up to ${chosen} of ${formatPlural(files, 'data file')}, at most ${formatBytes(bytes)} or one larger file. Measures up to about ${formatCount(rows)} rows, without deleted ones.`,
  nothingToRead: 'The table has no data files to read.',
  sampleTitle: 'Figures of a sample',
  completeTitle: 'Figures of all rows',
  sample: (rows: number, all: number, rule: string) =>
    `${formatPlural(rows, 'row')} of ${formatCount(all)} were measured: ${rule}. Other rows may have smaller, greater or more values.`,
  complete: (rows: number) =>
    `${formatPlural(rows, 'row')} without deleted ones were measured: every row of the table.`,
  took: (time: string, snapshot: string | null) =>
    `It took ${time}${snapshot === null ? '' : `, at snapshot ${snapshot}`}.`,
  changed: 'The table has changed since.',
  notMeasured: 'not measured',
  notMeasuredHelp:
    'Members of lists and maps, types that the engine does not read, and columns after the first 1,000 are not measured.',
  columns: {
    path: 'Column',
    type: 'Type',
    values: 'Values',
    nulls: 'NULLs',
    size: 'Size',
    lower: 'Lower bound',
    upper: 'Upper bound',
    sampledNulls: 'NULLs',
    distinct: 'Distinct',
    min: 'Least seen',
    max: 'Greatest seen',
    top: 'Most frequent',
    spread: 'Quartiles, lengths',
  },
  unknown: 'unknown',
  guess: (count: string) => `about ${count}`,
  quantiles: (low: string, middle: string, high: string) => `${low} / ${middle} / ${high}`,
  lengths: (min: number, max: number) =>
    min === max ? formatPlural(min, 'character') : `${formatCount(min)} to ${formatPlural(max, 'character')}`,
  frequent: (value: string, share: string) => `${value} (${share})`,
  noneRepeated: 'no value repeats',
  emptyText: '(empty)',
} as const

/** A mean to a tenth. */
const mean = (value: number): string => formatCount(Math.round(value * 10) / 10)

/** Text of the picture of file bounds. */
export const fileBounds = {
  title: 'Bounds of data files',
  column: 'Column of the picture',
  noLayout: 'The table has no sort order and is not clustered. Choose a column to see the bounds of its files.',
  noBounds: (column: string) => `No data file has bounds of ${column}.`,
  alone: 'No partition has two data files, so no bounds overlap.',
  overlap: ({
    column,
    overlaps,
    others,
    isOnePartition,
  }: {
    readonly column: string
    readonly overlaps: number
    readonly others: number
    readonly isOnePartition: boolean
  }) => {
    const place = isOnePartition ? '' : ' of its partition'
    return `On average, the bounds of a data file in ${column} overlap with those of ${mean(overlaps)} of ${mean(others)} others${place}. So a value is found in at most about ${mean(overlaps + 1)} of ${mean(others + 1)} files${isOnePartition ? '' : ' of a partition'}.`
  },
  reading: 'Each bar is a data file, from its lower to its upper bound. Bars that overlap stand on each other.',
  allPartitions: 'The picture has the files of all partitions.',
  rank: 'Bounds are placed by their order, because these values have no distances.',
  leftOut: (drawn: number, all: number) =>
    `The picture has ${formatCount(drawn)} of ${formatPlural(all, 'file')}, at equal distances. All files count in the figures.`,
  unbounded: (files: number) =>
    files === 1
      ? '1 file has no bounds of this column and no bar.'
      : `${formatCount(files)} files have no bounds of this column and no bar.`,
  bar: (lower: string, upper: string, rows: number) => `${lower} to ${upper}, ${formatPlural(rows, 'row')}`,
  showTable: 'Show as table',
  hideTable: 'Hide the table',
  label: (table: string) => `Bounds of the data files of ${table}`,
  columns: { lower: 'Lower bound', upper: 'Upper bound', rows: 'Rows', size: 'Size' },
} as const
