/** Names of pages in the navigation. */
export const labels = {
  overview: 'Overview',
  inbox: 'Inbox',
  query: 'SQL',
  lineage: 'Lineage',
  approvals: 'Approvals',
  environments: 'Environments',
  agent: 'Agent',
  notebooks: 'Notebook',
  policies: 'Policies',
  operations: 'Operations',
  quarantine: 'Quarantine',
  audit: 'Audit log',
  settings: 'Settings',
} as const
