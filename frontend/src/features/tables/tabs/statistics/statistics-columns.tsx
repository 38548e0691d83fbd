import type { ColumnStatistics, TableStatistics } from '../../../../api/types.ts'
import type { ColumnSpec } from '../../../../components/table/columns.ts'
import { formatBytes, formatCount, formatPercent } from '../../../../strings/everywhere/units.ts'
import { statistics as words } from '../../../../strings/statistics.ts'
import classes from './statistics.module.css'

type Spec = ColumnSpec<ColumnStatistics>
type Profile = NonNullable<ColumnStatistics['profile']>
type Facts = NonNullable<TableStatistics['profile']>

/** A text that may be longer than its cell. */
function Value({ text }: { readonly text: string | null | undefined }) {
  if (text === null || text === undefined) return undefined
  return (
    <span className={classes.value} title={text}>
      {text === '' ? <span className={classes.dim}>{words.emptyText}</span> : text}
    </span>
  )
}

const unknown = <span className={classes.dim}>{words.unknown}</span>

const pathColumn: Spec = {
  id: 'path',
  header: words.columns.path,
  width: 'minmax(120px, 1.5fr)',
  sortValue: ({ path }) => path,
  cell: ({ path }) => <Value text={path} />,
}

const typeColumn: Spec = {
  id: 'type',
  header: words.columns.type,
  width: 'minmax(80px, 1fr)',
  hideOnPhone: true,
  hideOnNarrow: true,
  sortValue: ({ type }) => type,
  cell: ({ type }) => <Value text={type} />,
}

function countColumn(id: 'values' | 'nulls', read: (column: ColumnStatistics) => number | null): Spec {
  return {
    id,
    header: words.columns[id],
    width: '104px',
    align: 'end',
    highFirst: true,
    belowOnPhone: true,
    sortValue: read,
    cell: (column) => {
      const value = read(column)
      return value === null ? unknown : <span>{formatCount(value)}</span>
    },
  }
}

function boundColumn(id: 'lower' | 'upper'): Spec {
  return {
    id,
    header: words.columns[id],
    width: 'minmax(100px, 1.5fr)',
    belowOnPhone: true,
    value: (column) => column[id],
    cell: (column) => (column[id] === null ? unknown : <Value text={column[id]} />),
  }
}

/** What the manifests know. */
export const manifestColumns: readonly Spec[] = [
  pathColumn,
  typeColumn,
  countColumn('values', ({ value_count: count }) => count),
  countColumn('nulls', ({ null_count: count }) => count),
  {
    id: 'size',
    header: words.columns.size,
    width: '88px',
    align: 'end',
    highFirst: true,
    hideOnPhone: true,
    sortValue: ({ size_bytes: bytes }) => bytes,
    cell: ({ size_bytes: bytes }) => (bytes === null ? unknown : <span>{formatBytes(bytes)}</span>),
  },
  boundColumn('lower'),
  boundColumn('upper'),
]

/** A column about the profile of a table's column. */
function profileColumn(look: Pick<Spec, 'id' | 'header' | 'width'>, read: (profile: Profile) => string | null): Spec {
  const textOf = ({ profile }: ColumnStatistics): string | null => (profile == null ? null : read(profile))
  return { ...look, belowOnPhone: true, value: textOf, cell: (column) => <Value text={textOf(column)} /> }
}

/** What a sample shows. Figures of a part of the table are guesses for the whole of it. */
export function sampleColumns({ sampled_rows: rows, is_complete: isComplete }: Facts): readonly Spec[] {
  return [
    pathColumn,
    typeColumn,
    {
      id: 'sampled-nulls',
      header: words.columns.sampledNulls,
      width: '88px',
      align: 'end',
      highFirst: true,
      belowOnPhone: true,
      sortValue: ({ profile }) => profile?.nulls_ratio ?? null,
      cell: ({ profile }) => {
        if (profile == null) return <span title={words.notMeasuredHelp}>{words.notMeasured}</span>
        return profile.nulls_ratio === null ? unknown : <span>{formatPercent(profile.nulls_ratio)}</span>
      },
    },
    {
      id: 'distinct',
      header: words.columns.distinct,
      width: '120px',
      align: 'end',
      highFirst: true,
      belowOnPhone: true,
      sortValue: ({ profile }) => profile?.distinct_estimate ?? null,
      cell: ({ profile }) => profile && <span>{distinctText(profile, isComplete)}</span>,
    },
    profileColumn({ id: 'min', header: words.columns.min, width: 'minmax(90px, 1fr)' }, ({ min }) => min),
    profileColumn({ id: 'max', header: words.columns.max, width: 'minmax(90px, 1fr)' }, ({ max }) => max),
    profileColumn({ id: 'spread', header: words.columns.spread, width: 'minmax(150px, 2fr)' }, spreadText),
    profileColumn({ id: 'top', header: words.columns.top, width: 'minmax(140px, 2fr)' }, (profile) =>
      topText(profile, rows),
    ),
  ]
}

function distinctText({ distinct_estimate: count }: Profile, isComplete: boolean): string {
  return isComplete ? formatCount(count) : words.guess(formatCount(count))
}

function spreadText({ quantiles, lengths }: Profile): string | null {
  if (quantiles !== null) return words.quantiles(quantiles.p25, quantiles.p50, quantiles.p75)
  return lengths === null ? null : words.lengths(lengths.min, lengths.max)
}

/** The most frequent values with their share of all rows, NULL included. */
function topText({ top_values: values }: Profile, rows: number): string | null {
  if (values.length > 1 && values.every(({ count }) => count === 1)) return words.noneRepeated
  if (values.length === 0) return null
  return values
    .map(({ value, count }) => words.frequent(value === '' ? words.emptyText : value, formatPercent(count / rows)))
    .join(', ')
}
