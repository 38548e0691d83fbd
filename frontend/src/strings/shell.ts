/** Words of the frame around the pages, and of sign-in. */
export const shell = {
  skip: 'Skip to content',
  navigation: 'Main navigation',
  bar: 'Top bar',
  openNavigation: 'Open navigation',
  sections: { lakehouse: 'Lakehouse', pipelines: 'Pipelines', service: 'Service' },
  search: 'Search',
  searchShort: 'Find a table or page',
  catalog: (name: string) => `Catalog ${name}`,
  noCatalog: 'No catalog configured',
  searchKey: '/',
  searchLabel: 'Find a table or page',
  searchEmpty: 'Nothing by that name.',
  searchPages: 'Pages',
  searchTables: 'Tables',
  searchMore: (count: string) => `${count} more; type more of the name`,
  searchFound: (count: number) => (count === 1 ? '1 result' : `${count} results`),
  signedInAs: 'Signed in as',
  signOut: 'Sign out',
  scheme: 'Colours',
  timeZone: 'Time zone',
  localZone: (zone: string) => `Local (${zone})`,
  otherZone: 'Other time zone',
  times: 'Times',
  timeStyles: { relative: 'Relative, such as 5 min ago', absolute: 'Absolute, such as 14:07:20' },
  schemes: { auto: 'System', light: 'Light', dark: 'Dark' },
  pendingApprovals: (count: number) =>
    count === 1 ? '1 request waits for a decision' : `${count} requests wait for a decision`,
  authOff: 'Authentication is off: everybody on this machine is a lead.',
  roles: { Auditor: 'Auditor', DataEngineer: 'Data engineer', LeadDataEngineer: 'Lead data engineer' },
} as const

export const signIn = {
  title: 'Sign in',
  intro: 'Open the link that the first start printed, or paste a token here.',
  token: 'Token',
  tokenHint: 'It begins with lh_, or is a token of your identity provider.',
  submit: 'Sign in',
  refused: 'This token is not valid: it may have been revoked, or it has expired.',
  linkRefused: 'The token of this link is not valid any more. Paste another one.',
  linkIgnored: (user: string) => `The token of this link is not valid. You are still signed in as ${user}.`,
  throttled: 'Too many tries. Wait a minute.',
  ended: 'Your session has ended. Sign in again to go on where you were.',
  empty: 'Paste a token first.',
  switch: {
    title: 'Switch user?',
    consequence: (current: string, offered: string) =>
      `You are signed in as ${current}. This link signs you in as ${offered} and ends the current session.`,
    stay: (user: string) => `Stay signed in as ${user}`,
    go: (user: string) => `Sign in as ${user}`,
  },
} as const

/** What people call a role; one that the page does not know keeps its name. */
export function roleName(role: string): string {
  return (shell.roles as Readonly<Record<string, string>>)[role] ?? role
}
