/** Words that many pages use. */
export const common = {
  product: 'Lockhouse',
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
  errorTitle: 'This could not be loaded',
  missingTitle: 'It is not here',
  unreachableTitle: 'The service does not answer',
  unreachable: 'It may be starting, or the connection may be down. The page tries again when you ask it to.',
  forbiddenTitle: 'Not for your role',
  forbidden: (role: string) => `This needs the role ${role}. Ask a lead for a token with it.`,
  notFoundTitle: 'Nothing here',
  notFound: 'This address leads nowhere. It may have been moved or removed.',
  backToTables: 'Go to the tables',
  requestId: (id: string) => `Request ${id}`,
  partMissingTitle: 'This page could not be loaded',
  partMissing: 'It may be starting, be down, or have been replaced by a newer version. Try again in a moment.',
  renderTitle: 'This page broke',
  render: 'Something in the page itself went wrong. Loading it again may help.',
} as const

/** Words of operations on tables, wherever they are shown. */
export const operations = {
  names: {
    compact: 'Compact',
    expire: 'Expire snapshots',
    add_column: 'Add column',
    rename_column: 'Rename column',
    drop_column: 'Drop column',
    rewrite_manifests: 'Rewrite manifests',
    remove_orphans: 'Remove orphan files',
    rollback: 'Roll back',
  } as Readonly<Record<string, string>>,
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
  reconnecting: 'The connection was cut; trying again. The operation goes on.',
  elapsed: (span: string) => `${span} so far`,
} as const
