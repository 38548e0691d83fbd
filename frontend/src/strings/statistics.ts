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
