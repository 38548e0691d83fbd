/** Text of the choice where a pipeline begins to read. */
export const startFromStrings = {
  label: 'Begin reading',
  kinds: {
    beginning: 'From the beginning: all current rows first',
    now: 'From now: only new rows',
    snapshot: 'After a snapshot',
    time: 'After a time',
  },
  snapshot: 'Snapshot ID',
  snapshotHelp: 'Rows of later snapshots are read. The snapshot must be in the history of main.',
  time: (zone: string) => `Time (${zone})`,
  timeHelp: 'Rows that were appended later are read.',
  missingSnapshot: 'Enter the ID of a snapshot, which is a number.',
  missingTime: 'Enter a time.',
  settings: {
    label: 'Began reading',
    unset: 'with all rows, or where its checkpoint stood',
    beginning: 'with all rows',
    now: 'with rows that were appended after its first start',
    snapshot: (id: string) => `after snapshot ${id}`,
    time: (time: string) => `after ${time}`,
  },
} as const
