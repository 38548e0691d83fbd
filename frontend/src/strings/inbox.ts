/** Text of the inbox. */
export const inbox = {
  lead: 'What needs you: requests to decide, and what does not work.',
  empty: { title: 'Nothing needs you', text: 'Requests, failures and suspended policies appear here.' },
  forbidden: {
    title: 'No inbox',
    text: 'Auditors read. They have nothing to decide or to repair.',
    link: 'Open operations',
  },
  cut: (most: string) => `The inbox shows the newest ${most} of each kind. The lists show all.`,
  approvals: {
    title: 'Requests to decide',
    line: (name: string, version: number, to: string) => `${name} v${version} to ${to}`,
    by: (who: string) => `requested by ${who}`,
    all: 'All approvals',
  },
  operations: {
    title: 'Failed operations of the last 7 days',
    hint: 'An operation leaves the inbox when you open it.',
    mark: 'Mark as seen',
    markOne: (name: string, table: string) => `Mark as seen: ${name} of ${table}`,
    markAll: 'Mark all as seen',
    all: 'All failed operations',
  },
  policies: {
    title: 'Suspended policies',
    line: (tables: string) => `suspended for ${tables}`,
    all: 'All policies',
  },
  pipelines: { title: 'Pipelines with errors', all: 'All pipelines' },
} as const
