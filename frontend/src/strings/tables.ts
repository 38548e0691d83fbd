/** Text of the table list and of the pages of a table. */
export const tables = {
  title: 'Tables',
  counted: (count: string, shown: string | undefined) => (shown === undefined ? count : `${shown} of ${count}`),
  filter: 'Filter by name',
  clearFilter: 'Clear filter',
  allNamespaces: 'All namespaces',
  namespace: 'Namespace',
  columns: {
    table: 'Table',
    score: 'Health',
    trend: 'Trend',
    files: 'Data files',
    small: 'Small files',
    deletes: 'Deleted',
    size: 'Size',
    held: 'Reclaimable',
    changed: 'Last commit',
    advice: 'Recommended',
  },
  heldHelp: 'Files that only old snapshots use. Expiring snapshots frees them.',
  deletedHelp: (files: string) => `Deleted rows that are still stored. ${files}.`,
  healthFilter: 'Health',
  anyHealth: (count: string) => `Any health (${count})`,
  healthFilters: {
    poor: (count: string) => `Poor (${count})`,
    fair: (count: string) => `Fair (${count})`,
    good: (count: string) => `Healthy (${count})`,
    unknown: (count: string) => `Unreadable (${count})`,
    stale: (count: string) => `Stale (${count})`,
  },
  trend: ({
    table,
    samples,
    from,
    to,
  }: Readonly<Record<'table' | 'samples', string> & Record<'from' | 'to', number>>) =>
    `Health of ${table} in the last ${samples}: from ${from} to ${to}`,
  onlyOne: 'One sample so far',
  indexFailed: 'Failed to load the health of the tables.',
  measuring: (count: string) => `Measuring ${count} …`,
  firstLook: 'Syncing with the catalog. Figures may be outdated.',
  nothingToDo: 'Nothing to do',
  unreadable: 'Unreadable',
  loadingHealth: 'Loading health',
  emptyTitle: 'No tables yet',
  emptyDetail:
    'The catalog is empty. Tables appear here when an engine creates them, or when you register a table that exists in storage.',
  noMatchTitle: 'No matching tables',
  noMatchDetail: 'No table fits the filters.',
  register: 'Register table',
  missingTitle: 'Table not found',
  missing: (table: string, catalog: string | undefined) =>
    `${catalog === undefined ? 'The current catalog' : `The catalog ${catalog}`} has no table ${table}. It may have been dropped or renamed, or the link is from another catalog.`,
  toList: 'All tables',
} as const

export const table = {
  tabs: {
    overview: 'Overview',
    schema: 'Schema',
    rows: 'Rows',
    statistics: 'Statistics',
    health: 'Health',
    snapshots: 'Snapshots',
    files: 'Files',
    partitions: 'Partitions',
    refs: 'Refs',
    history: 'History',
    properties: 'Properties',
  },
  tabsLabel: 'Views of this table',
  actions: 'Actions',
  name: 'table name',
  location: 'Location',
  metadata: 'Metadata file',
  uuid: 'UUID',
  formatVersion: 'Format version',
  currentSnapshot: 'Current snapshot',
  partitioning: 'Partitioning',
  unpartitioned: 'not partitioned',
  sortOrder: 'Sort order',
  unsorted: 'not sorted',
  changed: 'Last updated',
  figures: {
    rows: 'Rows in data files',
    withDeleted: 'including deleted rows',
    size: 'Size',
    dataFiles: 'Data files',
    averageFile: 'Average file',
    deleteFiles: 'Delete files',
    partitions: 'Partitions',
    snapshots: 'Snapshots',
    manifests: 'Manifests',
    small: (count: string, limit: string) => `${count} under ${limit}`,
    since: (time: string) => `oldest ${time}`,
    deletes: (position: string, equality: string, vectors: string) =>
      `${position} position, ${equality} equality, ${vectors} vectors`,
  },
  recentOperations: 'Recent operations',
  noOperations: 'No operations on this table yet.',
  facts: 'About',
  loadMore: (count: string) => `Load ${count} more`,
  shownOfMore: (shown: string) => `${shown} shown, more available`,
  moved: 'The table has changed since this list was loaded.',
  reload: 'Reload',
  rowActions: (what: string) => `Actions for ${what}`,
} as const

export const health = {
  title: 'Score details',
  factors: {
    small_files: 'Small files',
    deletes: 'Deletes',
    snapshots: 'Snapshots',
    manifests: 'Manifests',
    skew: 'Skew',
    overlap: 'Overlap',
  } as Readonly<Record<string, string>>,
  factor: 'Factor',
  points: 'Points lost',
  lost: (penalty: string, max: string) => `${penalty} of ${max}`,
  detail: 'Reason',
  histogramTitle: 'Data file sizes',
  histogramEmpty: 'No data files.',
  range: (from: string, to: string | undefined) => (to === undefined ? `from ${from}` : `${from} – ${to}`),
  under: (to: string) => `under ${to}`,
  sizeHead: 'Size',
  share: 'Share',
  filesHead: 'Files',
  bytesHead: 'Bytes',
  threshold: (limit: string) => `Files under ${limit} count as small. Compaction selects them.`,
  actionsTitle: 'Recommended',
  noActions: 'Nothing to do. No action would noticeably improve this table.',
  gain: (before: string, after: string) => `score ${before} → ${after}`,
  preview: (noun: string) => `Preview ${noun}`,
  needsRole: (role: string) => `Requires the role ${role}.`,
  history: {
    title: 'Score over time',
    series: 'Score',
    none: 'No samples yet. The first one is taken when the table is measured.',
    summary: ({ samples, first, last, lowest }: Readonly<Record<'samples' | 'first' | 'last' | 'lowest', string>>) =>
      `Health score over ${samples}: first ${first}, last ${last}, lowest ${lowest}.`,
  },
} as const

export const schema = {
  columns: { name: 'Column', type: 'Type', nullable: 'Required', comment: 'Comment', id: 'Field id' },
  required: 'required',
  filter: 'Filter columns',
  counted: (count: string, id: number) => `${count}, schema ${id}`,
  expand: (name: string) => `Expand ${name}`,
  collapse: (name: string) => `Collapse ${name}`,
  rename: 'Rename',
  drop: 'Drop',
  add: 'Add column',
  label: 'Columns',
} as const

export const snapshots = {
  label: 'Snapshots, newest first',
  columns: {
    committed: 'Committed',
    operation: 'Operation',
    rows: 'Rows',
    rowChange: 'Row changes',
    files: 'Data files',
    size: 'Size',
    refs: 'Refs',
    id: 'Snapshot',
    actions: 'Actions',
  },
  current: 'current',
  rollback: 'Roll back to this snapshot',
  expire: 'Expire this snapshot',
  chart: 'Rows over time',
  chartSummary: (first: string, last: string, count: string) =>
    `Rows in the table over ${count}: from ${first} to ${last}.`,
  chartUpperBound: 'Includes rows removed by equality deletes.',
  chartExpired: 'Starts at the oldest snapshot.',
  chartMore: 'Starts at the oldest loaded snapshot.',
  replaceHelp:
    '“replace” snapshots only reorganize files, for example in a compaction. They do not change query results. Rows that were already deleted are not written to the new files.',
  noChange: 'no change',
  rewritten: 'Same rows in new files.',
  rewrittenApplied: (rows: string) => `Same rows in new files. ${rows} that were already deleted are no longer stored.`,
  key: 'key',
  keys: 'keys',
  equalityTitle: (count: string) =>
    `equality deletes: ${count}. The snapshot does not record how many rows they delete`,
  empty: 'No snapshots yet. No data has been written to this table.',
  id: 'snapshot id',
  deltaTitle: (added: string, removed: string) => `${added} added, ${removed} removed`,
  totalAfter: (total: string) => `${total} in total after this snapshot`,
} as const

export const files = {
  label: 'Files of the current snapshot',
  columns: {
    path: 'File',
    content: 'Content',
    partition: 'Partition',
    rows: 'Rows',
    size: 'Size',
    format: 'Format',
    sequence: 'Sequence',
  },
  contents: { data: 'data', 'position-deletes': 'position deletes', 'equality-deletes': 'equality deletes' },
  empty: 'No files. The current snapshot has no rows.',
  path: 'path',
  small: 'small',
} as const

export const partitions = {
  label: 'Partitions',
  columns: {
    partition: 'Partition',
    files: 'Data files',
    small: 'Small files',
    deletes: 'Delete files',
    rows: 'Rows',
    size: 'Size',
    average: 'Average file',
  },
  empty: 'No partitions. The current snapshot has no rows.',
  whole: 'whole table',
} as const

export const refs = {
  label: 'Branches and tags',
  columns: {
    name: 'Name',
    type: 'Type',
    snapshot: 'Snapshot',
    keep: 'Min snapshots',
    age: 'Max snapshot age',
    expires: 'Ref expires after',
  },
  types: { branch: 'branch', tag: 'tag' },
  empty: 'No branches or tags.',
  byTable: 'Table default',
} as const

/** Text of the list of users who read a table through the served catalog. */
export const readers = {
  title: 'Users who read this table',
  scan: 'scan',
  columns: (names: string) => `Reads ${names}.`,
  filters: (names: string) => `Filters by ${names}.`,
  others: (count: string) => `${count} more`,
  more: 'More users read this table.',
} as const

/** Text of the section that explains access to a table. */
export const access = {
  title: 'Who may see this table?',
  principal: 'User or group',
  placeholder: 'user:ada or group:analysts',
  submit: 'Explain',
  unlimited: 'There are no grants: every user sees this table.',
  none: 'No grant matches. The table does not exist for this user or group, except for lead data engineers.',
  role: (role: string) => `At most ${role}, by these grants:`,
  grant: (principal: string, role: string, tables: string) => `${principal}: ${role} on ${tables}`,
} as const

/** Text of the control that restores a table to a time. */
export const restore = {
  label: (zone: string) => `Restore to a time (${zone})`,
  submit: 'Restore …',
  future: 'Choose a time in the past.',
  snapshot: (id: string, operation: string) => `Snapshot ${id} (${operation})`,
  state: (snapshot: string, from: string, until: string) => `${snapshot} was current from ${from} until ${until}.`,
  current: (snapshot: string, from: string) => `${snapshot} is current since ${from}. There is nothing to restore.`,
  expired: (snapshot: string, from: string, until: string) =>
    `Snapshot ${snapshot} was current from ${from} until ${until}. It has expired and cannot be restored.`,
  notInHistory:
    'It is no ancestor of the current snapshot, because the table was rolled back or replaced later. It cannot be restored.',
  none: 'No state of that time is known.',
  earliest: (time: string) => `The earliest time that can be restored is ${time}.`,
  earlier: {
    no_snapshot: 'The table had no data before.',
    expired: 'Older snapshots have expired.',
    not_in_history: 'Older snapshots do not belong to the current history.',
  },
} as const

export const history = {
  label: 'History of the current snapshot',
  columns: { at: 'Became current', snapshot: 'Snapshot', parent: 'Parent', ancestor: 'Current ancestor' },
  yes: 'yes',
  no: 'no, rolled back',
  empty: 'No history. No data has been written to this table.',
} as const

export const properties = {
  label: 'Properties',
  columns: { name: 'Property', value: 'Value' },
  empty: 'No properties are set. All defaults apply.',
  filter: 'Filter properties',
} as const
