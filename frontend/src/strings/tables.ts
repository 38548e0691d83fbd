/** Words of the table list and of a table's pages. */
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
    files: 'Data files',
    size: 'Size',
    changed: 'Changed',
    advice: 'Advice',
  },
  nothingToDo: 'Nothing to do',
  adviceFiles: (before: string, after: string) => `Compact ${before} → ${after}`,
  adviceOf: (operations: string) => operations,
  unreadable: 'Cannot be read',
  loadingHealth: 'Reading health',
  emptyTitle: 'No tables yet',
  emptyDetail:
    'The catalog is empty. Tables that any engine makes in it appear here; or register one that exists in storage.',
  noMatchTitle: 'No table by that name',
  noMatchDetail: (text: string) => `Nothing contains “${text}”.`,
  sortedPartly: (known: string, all: string) =>
    `Sorted by the ${known} of ${all} tables that have been looked at; scroll or filter to look at more.`,
  register: 'Register table',
  missingTitle: 'Table not found',
  missing: (table: string, catalog: string | undefined) =>
    `${catalog === undefined ? 'The current catalog' : `The current catalog, ${catalog},`} has no table ${table}. It may have been dropped or renamed, or the link is from before the catalog was switched.`,
  toList: 'All tables',
} as const

export const table = {
  tabs: {
    overview: 'Overview',
    schema: 'Schema',
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
  changed: 'Changed',
  figures: {
    rows: 'Rows in data files',
    withDeleted: 'deleted ones included',
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
  recentOperations: 'Latest operations',
  noOperations: 'Nothing has run on this table yet.',
  allOperations: 'All operations on this table',
  facts: 'About',
  loadMore: (count: string) => `Load ${count} more`,
  shownOfMore: (shown: string) => `${shown} shown, there are more`,
  moved: 'The table has changed since the first page was read.',
  reload: 'Read again',
  rowActions: (what: string) => `Actions on ${what}`,
} as const

export const health = {
  title: 'Why this score',
  factors: {
    small_files: 'Small files',
    deletes: 'Deletes',
    snapshots: 'Snapshots',
    manifests: 'Manifests',
    skew: 'Skew',
  } as Readonly<Record<string, string>>,
  factor: 'Factor',
  points: 'Points lost',
  lost: (penalty: string, max: string) => `${penalty} of ${max}`,
  detail: 'Why',
  histogramTitle: 'Sizes of data files',
  histogramEmpty: 'There are no data files.',
  range: (from: string, to: string | undefined) => (to === undefined ? `from ${from}` : `${from} – ${to}`),
  under: (to: string) => `under ${to}`,
  filesAndBytes: (files: string, bytes: string) => `${files}, ${bytes}`,
  sizeHead: 'Size',
  share: 'Share',
  filesHead: 'Files',
  bytesHead: 'Bytes',
  threshold: (limit: string) => `Files under ${limit} count as small: that is what compaction selects.`,
  actionsTitle: 'Recommended',
  noActions: 'Nothing to do: no action would make this table noticeably better.',
  gain: (before: string, after: string) => `score ${before} → ${after}`,
  preview: (operation: string) => `Preview: ${operation}`,
  needsRole: (role: string) => `Needs the role ${role}.`,
} as const

export const schema = {
  columns: { name: 'Column', type: 'Type', nullable: 'Required', comment: 'Comment', id: 'Field id' },
  required: 'required',
  filter: 'Filter columns',
  counted: (count: string, id: number) => `${count}, schema ${id}`,
  expand: (name: string) => `Show the fields of ${name}`,
  collapse: (name: string) => `Hide the fields of ${name}`,
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
  rollback: 'Roll back to this',
  expire: 'Expire this',
  chart: 'Rows over time',
  chartSummary: (first: string, last: string, count: string) =>
    `Rows in the table over ${count}: from ${first} at first to ${last} now.`,
  chartUpperBound: 'Rows removed by equality deletes are still counted.',
  chartExpired: 'Starts at the oldest snapshot that has not expired.',
  chartMore: 'Starts at the oldest snapshot that is loaded.',
  replaceHelp:
    '“replace” snapshots only reorganize files, for example after a compaction. They change no row: deleted rows that were still stored are left out of the new files.',
  noChange: 'no change',
  rewritten: 'Same rows in new files.',
  rewrittenApplied: (rows: string) => `Same rows in new files. ${rows} that were already deleted are no longer stored.`,
  key: 'key',
  keys: 'keys',
  equalityTitle: (count: string) =>
    `equality deletes: ${count}. Rows that match them are deleted; the snapshot does not say how many`,
  empty: 'No snapshots yet. Nothing has been written to this table.',
  id: 'snapshot id',
  deltaTitle: (added: string, removed: string) => `${added} added, ${removed} removed`,
  totalAfter: (total: string) => `${total} in total afterwards`,
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
  empty: 'No files: the current snapshot has no rows.',
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
  empty: 'No partitions: the current snapshot has no rows.',
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

export const history = {
  label: 'When which snapshot was current',
  columns: { at: 'Became current', snapshot: 'Snapshot', parent: 'Parent', ancestor: 'In the current line' },
  yes: 'yes',
  no: 'no, rolled back',
  empty: 'No history: nothing was ever written to this table.',
} as const

export const properties = {
  label: 'Properties',
  columns: { name: 'Property', value: 'Value' },
  empty: 'No properties are set: everything is at its default.',
  filter: 'Filter properties',
} as const
