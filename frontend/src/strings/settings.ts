/** Text of the settings pages. */
export const settingsStrings = {
  title: 'Settings',
  pageTitle: (tab: string) => `Settings: ${tab.toLowerCase()}`,
  tabs: { catalog: 'Catalog', tokens: 'Tokens', alerts: 'Alerts', webhooks: 'Webhooks', about: 'About' },
  leadOnly: {
    tokens: {
      title: 'Permission denied',
      text: 'Managing tokens requires the role Lead data engineer. Ask a lead if you need a token.',
    },
    alerts: {
      title: 'Permission denied',
      text: 'Managing alerts requires the role Lead data engineer.',
    },
    webhooks: {
      title: 'Permission denied',
      text: 'Managing webhooks requires the role Lead data engineer.',
    },
  },
  cancel: 'Cancel',
} as const

/** Text of the catalog settings. */
export const catalogStrings = {
  lead: 'The catalog whose tables this service manages.',
  notConfigured: 'No catalog is configured. Configure one to use tables and pipelines.',
  readOnly: 'Only a lead data engineer can change this.',
  type: 'Type',
  types: { sql: 'SQL', rest: 'REST', hadoop: 'Hadoop' },
  typeHelp: {
    sql: 'An Iceberg JDBC catalog in SQLite or PostgreSQL. PyIceberg, Java and Spark can use the same catalog.',
    rest: 'An Iceberg REST catalog server. Set token or credential as additional properties.',
    hadoop: 'A warehouse folder in the layout of Spark’s Hadoop catalog. No database.',
  },
  name: 'Name',
  nameHelp: 'Other engines must use the same catalog name.',
  warehouse: 'Warehouse',
  warehouseHelp: 'Folder or object store prefix for new tables. REST servers may use a warehouse name instead.',
  uri: 'URI',
  uriHelp: {
    sql: 'sqlite:///path or postgresql://user@host/database. A stored password is shown as ***. Leave *** to keep it.',
    rest: 'https://host/path, without /v1.',
    hadoop: 'Not used by this catalog type.',
  },
  create: 'Create if missing',
  createHelp: 'Creates the file, or the catalog tables in an existing database.',
  none: '–',
  properties: 'Additional properties',
  propertiesHelp:
    'Values that may be secret are shown as ***. Leave *** to keep the stored value. Use env:NAME to read an environment variable of the server.',
  property: 'Property',
  value: 'Value',
  kept: 'stored, not shown',
  noProperties: 'No additional properties.',
  add: 'Add property',
  remove: (name: string) => `Remove ${name === '' ? 'this property' : name}`,
  save: 'Review changes',
  reset: 'Reset',
  fieldError: (path: string, message: string) => `${path}: ${message}`,
  problems: {
    password: 'The stored password can only be kept with the stored URI. Enter the password instead of ***.',
    nameless: 'Enter a name, or remove this property.',
    twice: 'Duplicate property.',
  },
  confirm: {
    title: 'Switch to another catalog?',
    text: 'The service opens the new catalog first. If that fails, the current catalog stays in use.',
    consequences: [
      'Lists, health and operations show the tables of the new catalog.',
      'Running operations finish on the catalog where they started.',
      'Running pipelines continue with their tables. A pipeline fails if the new catalog does not have its tables.',
    ],
    field: 'Field',
    from: 'Current',
    to: 'New',
    nothing: '–',
    action: 'Switch catalog',
  },
  saved: 'Catalog switched',
  affected: (ids: string) => `These running pipelines use tables that are not in this catalog: ${ids}`,
  failedTitle: 'Failed to open the catalog. The current catalog stays in use.',
  changedTitle: 'Someone else changed the catalog',
  changedText: 'The current configuration was reloaded. Review it before you save your changes.',
  useCurrent: 'Load current configuration',
} as const

/** Text of the tokens page. */
export const tokenStrings = {
  title: 'Tokens',
  lead: 'A token identifies a user and a role. It is shown only once, when you create it.',
  create: 'New token',
  columns: {
    name: 'Name',
    user: 'User',
    role: 'Role',
    created: 'Created',
    expires: 'Expires',
    state: 'State',
    actions: 'Actions',
  },
  states: { active: 'Active', expired: 'Expired', revoked: 'Revoked' },
  never: 'never',
  showEnded: 'Show expired and revoked tokens',
  empty: { title: 'No tokens', text: 'Create one for a person or a program.' },
  emptyActive: { title: 'No active tokens', text: 'Use the switch above to show expired and revoked tokens.' },
  form: {
    title: 'New token',
    user: 'User',
    userHelp: 'The audit log records this name for everything done with the token.',
    role: 'Role',
    roles: {
      Auditor: 'Reads tables, pipelines, definitions and operations',
      DataEngineer: 'Also maintains tables, runs pipelines, creates and promotes versions',
      LeadDataEngineer: 'Also decides approvals, rolls back tables, removes orphan files and manages settings',
    },
    name: 'Description',
    namePlaceholder: 'For example: laptop, or nightly job',
    expires: 'Expires',
    expiry: { '7': 'In 7 days', '30': 'In 30 days', '90': 'In 90 days', '365': 'In 1 year', never: 'Never' },
    submit: 'Create token',
  },
  made: {
    title: 'Copy the token now',
    text: (whom: string) =>
      `Only a hash is stored, so the token cannot be shown again. Anyone who has it can act as ${whom}.`,
    as: (user: string, role: string) => `${user}, ${role}`,
    token: 'Token',
    link: 'Sign-in link',
    linkHelp: 'Signs in the person who opens it. Share it only with this user.',
    done: 'Done',
  },
  revoke: {
    action: 'Revoke',
    label: (name: string, user: string) => `Revoke ${name} of ${user}`,
    title: (name: string, user: string) => `Revoke “${name}” of ${user}?`,
    consequences: [
      'Programs that use this token are denied from their next request on.',
      'Browser sessions that were started with it end immediately.',
      'This cannot be undone.',
    ],
    own: 'If you signed in with this token, you are signed out.',
    done: 'Token revoked',
  },
  loadMore: 'Load more',
} as const

/** Text of the webhooks page. */
export const webhookStrings = {
  title: 'Webhooks',
  lead: 'Sends signed notifications about events to a URL.',
  create: 'New webhook',
  columns: { url: 'URL', types: 'Events', createdBy: 'Created by', created: 'Created', actions: 'Actions' },
  empty: { title: 'No webhooks', text: 'Add one to notify a chat room or ticket system, for example about approvals.' },
  form: {
    title: 'New webhook',
    url: 'URL',
    urlHelp: 'Receives POST requests with JSON. Private addresses are refused unless the server allows them.',
    urlProblem: 'Enter a URL that starts with https:// or http://.',
    types: 'Events',
    typesHelp: 'One per line: approval.requested, approval.*, or * for all.',
    submit: 'Add webhook',
  },
  made: {
    title: 'Copy the secret now',
    text: 'It signs every delivery (Standard Webhooks, HMAC-SHA256). It is not shown again.',
    secret: 'Secret',
    done: 'Done',
  },
  remove: {
    action: 'Delete',
    label: (url: string) => `Delete the webhook to ${url}`,
    title: 'Delete this webhook?',
    consequences: ['No more events are sent to it, including pending deliveries.', 'Its delivery history is deleted.'],
    done: 'Webhook deleted',
  },
  deliveries: {
    show: (url: string) => `Deliveries to ${url}`,
    title: 'Deliveries',
    empty: 'No deliveries yet.',
    columns: {
      event: 'Event',
      state: 'State',
      attempts: 'Attempts',
      answer: 'Response',
      created: 'Created',
      next: 'Next attempt',
    },
    states: { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' },
    none: '–',
    loadMore: 'Load more',
  },
} as const

/** Text of the page about the service. */
export const aboutStrings = {
  version: 'Version',
  uptime: 'Uptime',
  status: 'Status',
  statuses: { ok: 'Healthy', degraded: 'Degraded' },
  checks: 'Components',
  parts: {
    state: 'State database',
    catalog: 'Catalog',
    engine: 'Engine',
    cluster: 'Cluster',
  },
  partHelp: {
    state: 'Definitions, approvals, operations, audit log',
    catalog: 'Lists the tables',
    engine: 'Reads and rewrites data files',
    cluster: 'Runs notebooks',
  },
  results: { ok: 'OK', failed: 'Failed', not_configured: 'Not configured', starting: 'Starting' },
  you: 'You',
  signedInAs: (user: string, role: string) => `${user}, ${role}`,
  api: 'API',
  openapi: 'OpenAPI document',
} as const
