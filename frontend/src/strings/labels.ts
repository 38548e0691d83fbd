/** Names of pages in the navigation. */
export const labels = {
  approvals: 'Approvals',
  agent: 'Agent',
  notebooks: 'Notebook',
  operations: 'Operations',
  audit: 'Audit log',
  settings: 'Settings',
} as const
