/** Text of the layout around pages, and of the sign-in page. */
export const shell = {
  creatingDemo: 'Creating the demo tables. They appear here when they are complete.',
  skip: 'Skip to content',
  navigation: 'Main navigation',
  bar: 'Top bar',
  openNavigation: 'Open navigation',
  sections: { lakehouse: 'Lakehouse', pipelines: 'Pipelines', service: 'Service' },
  search: 'Search',
  searchShort: 'Find a table, page or action',
  catalog: (name: string) => `Catalog ${name}`,
  noCatalog: 'No catalog configured',
  searchKey: '/',
  searchLabel: 'Find a table, page or action',
  searchEmpty: 'No results.',
  searchMore: (count: string) => `${count} more. Refine your search.`,
  searchFound: (count: number) => (count === 1 ? '1 result' : `${count} results`),
  signedInAs: 'Signed in as',
  signOut: 'Sign out',
  scheme: 'Theme',
  timeZone: 'Time zone',
  localZone: (zone: string) => `Local (${zone})`,
  otherZone: 'Other time zone',
  times: 'Times',
  timeStyles: { relative: 'Relative, such as 5 min ago', absolute: 'Absolute, such as 14:07:20' },
  schemes: { auto: 'System', light: 'Light', dark: 'Dark' },
  inInbox: (count: number) => (count === 1 ? '1 entry needs you' : `${count} entries need you`),
  pendingApprovals: (count: number) => (count === 1 ? '1 pending approval' : `${count} pending approvals`),
  authOff: 'Authentication is off. Everyone on this machine has the role Lead data engineer.',
  roles: { Auditor: 'Auditor', DataEngineer: 'Data engineer', LeadDataEngineer: 'Lead data engineer' },
} as const

export const signIn = {
  title: 'Sign in',
  intro: 'Open the link that was printed at first start, or paste a token here.',
  introProvider: 'Sign in with your organization, or paste a token.',
  token: 'Token',
  tokenHint: 'Starts with lh_, or is a token from your identity provider.',
  submit: 'Sign in',
  refused: 'Invalid token. It may have expired or been revoked.',
  linkIgnored: (user: string) => `The token in this link is not valid. You are still signed in as ${user}.`,
  throttled: 'Too many attempts. Wait a minute and try again.',
  provider: 'Sign in with your organization',
  or: 'or',
  why: {
    ended: 'Your session has expired. Sign in again to continue.',
    link: 'The token in this link is no longer valid. Paste another one.',
    expired: 'This sign-in took too long or was used before. Sign in again.',
    denied: 'Your identity provider refused the sign-in.',
    invalid: 'The answer of your identity provider failed a check. Sign in again, or ask your administrator.',
    'no-role': 'None of your groups has access to this service. Ask your administrator.',
    unavailable: 'Your identity provider does not answer. Try again in a minute.',
  },
  empty: 'Paste a token first.',
  switch: {
    title: 'Switch user?',
    consequence: (current: string, offered: string) =>
      `You are signed in as ${current}. This link signs you in as ${offered} and ends the current session.`,
    stay: (user: string) => `Stay signed in as ${user}`,
    go: (user: string) => `Sign in as ${user}`,
  },
} as const

/** The display name of a role; an unknown role keeps its own name. */
export function roleName(role: string): string {
  return (shell.roles as Readonly<Record<string, string>>)[role] ?? role
}
