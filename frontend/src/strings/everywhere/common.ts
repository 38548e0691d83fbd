import type { RecommendedKind } from '../../../../src/domain/tables/operations.ts'

/** Text that many pages use. */
export const common = {
  connectCatalog: 'Connect a catalog',
  product: 'Lockhouse',
  catalog: 'Catalog',
  allCatalogs: 'All catalogs',
  cancel: 'Cancel',
  close: 'Close',
  copy: 'Copy',
  copied: 'Copied',
  retry: 'Try again',
  loading: 'Loading …',
  unknown: '–',
  none: 'none',
  never: 'Never',
  noValue: 'no value',
  justNow: 'just now',
  ago: (span: string) => `${span} ago`,
  ahead: (span: string) => `in ${span}`,
  rows: (label: string, shown: string) => `${label}: ${shown}`,
  sortBy: (column: string) => `Sort by ${column}`,
  copyWhat: (what: string) => `Copy ${what}`,
  breadcrumbs: 'Breadcrumbs',
} as const

/** States that every page can be in. */
export const states = {
  errorTitle: 'Failed to load',
  missingTitle: 'Not found',
  unreachableTitle: 'Can’t reach the server',
  unreachable: 'The server may be starting, or your connection may be down. Try again in a moment.',
  forbiddenTitle: 'Permission denied',
  forbidden: (role: string) => `This requires the role ${role}. Ask a lead for a token with this role.`,
  notFoundTitle: 'Page not found',
  notFound: 'This page does not exist. It may have been moved or deleted.',
  backToTables: 'Go to tables',
  requestId: (id: string) => `Request ${id}`,
  partMissingTitle: 'Failed to load this page',
  partMissing: 'The server may be starting or down, or a newer version may have been installed. Try again in a moment.',
  renderTitle: 'Something went wrong',
  render: 'The page failed because of an error. Reloading may help.',
} as const

/** Text about operations on tables. */
export const operations = {
  names: {
    compact: 'Compact',
    expire: 'Expire snapshots',
    add_column: 'Add column',
    rename_column: 'Rename column',
    drop_column: 'Drop column',
    convert_deletes: 'Convert equality deletes',
    rewrite_position_deletes: 'Rewrite position deletes',
    rewrite_manifests: 'Rewrite manifests',
    remove_orphans: 'Remove orphan files',
    rollback: 'Roll back',
    restore: 'Restore',
  } as Readonly<Record<string, string>>,
  /** Operations that the health report recommends, as nouns. */
  nouns: {
    compact: 'compaction',
    convert_deletes: 'equality delete conversion',
    rewrite_position_deletes: 'position delete rewrite',
    rewrite_manifests: 'manifest rewrite',
    expire: 'snapshot expiry',
  } satisfies Readonly<Record<RecommendedKind, string>> as Readonly<Record<string, string>>,
  states: {
    running: 'Running',
    succeeded: 'Succeeded',
    failed: 'Failed',
    cancelled: 'Cancelled',
    unknown: 'Outcome unknown',
  },
  progress: (name: string) => `Progress of ${name}`,
  starting: 'Starting …',
  committing: 'Committing …',
  filesDone: (done: string, total: string) => `${done} of ${total} files`,
  bytesDone: (done: string, total: string) => `${done} of ${total}`,
  cancel: 'Cancel operation',
  reconnecting: 'Connection lost. Reconnecting. The operation continues.',
  elapsed: (span: string) => `${span} so far`,
  engines: { auto: 'Automatic', embedded: 'Embedded', spark: 'Spark' },
  engine: (engine: string, reason: string) => `Engine: ${engine}. Reason: ${reason}.`,
} as const

/** What patterns of table names mean with several catalogs. */
export const catalogPatternHelp =
  'A pattern without a catalog means the default one. lake:* means all tables of the catalog lake, and *:* those of all other catalogs.'
