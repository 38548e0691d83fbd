/** Views of a table, in the order of their tabs. */
export const TABLE_TABS = [
  'overview',
  'schema',
  'rows',
  'statistics',
  'health',
  'snapshots',
  'files',
  'partitions',
  'refs',
  'history',
  'properties',
] as const

export type TableTab = (typeof TABLE_TABS)[number]

/** The search parameters of the table list. */
export interface ListSearch {
  /** Text that the name must contain. */
  readonly q?: string
  /** The name of a catalog, also of the default one. */
  readonly catalog?: string
  readonly namespace?: string
  readonly sort?: string
  readonly health?: HealthFilter
  /** Ids of hidden columns, separated by commas. */
  readonly hide?: string
  /** The dialog that is open. */
  readonly action?: string
}

/** The filters by health, in the order of the menu. */
export const HEALTH_FILTERS = ['poor', 'fair', 'good', 'unknown', 'stale'] as const

export type HealthFilter = (typeof HEALTH_FILTERS)[number]

/** Whether a filter names a band of the health index. */
export function isBand(filter: HealthFilter): filter is Exclude<HealthFilter, 'stale'> {
  return filter !== 'stale'
}

/** The search parameters of a table page. */
export interface TableSearch {
  readonly tab?: TableTab
  readonly sort?: string
  readonly q?: string
  readonly hide?: string
  /** The compared snapshots, see {@link parseComparison}. */
  readonly compare?: string
  /** The column whose bounds are drawn; undefined: the first one that the table is laid out by. */
  readonly column?: string
  /** The range of charts, see `components/chart/range/chart-range.ts`. */
  readonly range?: string
  readonly from?: string
  readonly to?: string
  /** The action whose form is open. */
  readonly action?: string
  /** `1`: the form is filled with what the health report recommends. */
  readonly recommended?: string
  /** What the action is about: a column's path, a snapshot's id, or a time. */
  readonly target?: string
  /** The operation that is watched. */
  readonly op?: string
}

/** No action: the parts of the address that open one are removed. */
export const ACTION_CLOSED = { action: '', recommended: '', target: '', op: '' } as const

/** Opens a tab; filters, order and columns belong to the tab that is left. */
export function tabSearch(tab: string) {
  const left = { sort: '', q: '', hide: '', compare: '', column: '' } as const
  return { tab: TABLE_TABS.find((name) => name === tab) ?? 'overview', ...left } as const
}

/** Two snapshots, and the columns that identify a row. */
export interface Comparison {
  /** Undefined: the snapshot before `to`. */
  readonly from: string | undefined
  /** Undefined: the current snapshot. */
  readonly to: string | undefined
  readonly key: string
}

/** A comparison as an address has it: `<from>~<to>~<key>`, with empty parts for what is not chosen. */
export function formatComparison({ from = '', to = '', key }: Comparison): string {
  return `${from}~${to}~${key}`
}

/** The inverse of {@link formatComparison}. */
export function parseComparison(text: string): Comparison {
  const [from = '', to = '', ...key] = text.split('~')
  const idOf = (part: string): string | undefined => (/^\d{1,19}$/.test(part) ? part : undefined)
  return { from: idOf(from), to: idOf(to), key: key.join('~') }
}

type Given = Readonly<Record<string, unknown>>

/** Parses the search parameters of the table list. */
export function parseListSearch(given: Given): ListSearch {
  const health = HEALTH_FILTERS.find((name) => name === given['health'])
  return {
    ...text(given, 'q'),
    ...text(given, 'catalog'),
    ...text(given, 'namespace'),
    ...text(given, 'sort'),
    ...text(given, 'hide'),
    ...text(given, 'action'),
    ...(health === undefined ? {} : { health }),
  }
}

/** The search of a table's page out of what an address holds; the first tab is not written. */
export function parseTableSearch(given: Given): TableSearch {
  const tab = TABLE_TABS.find((name) => name === given['tab'])
  return {
    ...(tab === undefined || tab === 'overview' ? {} : { tab }),
    ...text(given, 'sort'),
    ...text(given, 'q'),
    ...text(given, 'hide'),
    ...text(given, 'compare'),
    ...text(given, 'column'),
    ...text(given, 'range'),
    ...text(given, 'from'),
    ...text(given, 'to'),
    ...text(given, 'action'),
    ...text(given, 'recommended'),
    ...text(given, 'target'),
    ...text(given, 'op'),
  }
}

function text<Name extends string>(given: Given, name: Name): { readonly [N in Name]?: string } {
  const value = given[name]
  return typeof value === 'string' && value !== '' ? ({ [name]: value } as { [N in Name]: string }) : {}
}
