import type { QuarantineEntry } from '../api/types.ts'
import { formatPlural } from './everywhere/units.ts'

/** Text of the page about quarantined files. */
export const quarantine = {
  title: 'Quarantine',
  lead: 'Files removed by snapshot expiry and orphan cleanup. They can be restored until they are deleted.',
  label: 'Entries in quarantine',
  table: 'Table',
  filter: 'State',
  anyState: 'Any state',
  more: 'Load more',
  columns: {
    table: 'Table',
    reason: 'Removed by',
    files: 'Files',
    bytes: 'Size',
    snapshots: 'Snapshots',
    state: 'State',
    until: 'Deleted after',
    actions: 'Actions',
  },
  reasons: { expire: 'Expiry', remove_orphans: 'Orphan removal' } satisfies Record<QuarantineEntry['reason'], string>,
  states: {
    held: 'Held',
    restoring: 'Restoring',
    restored: 'Restored',
    purging: 'Deleting',
    purged: 'Deleted',
  } satisfies Record<QuarantineEntry['state'], string>,
  empty: {
    title: 'Nothing in quarantine',
    text: 'Files that snapshot expiry and orphan cleanup remove appear here.',
    filteredText: 'Clear the filter to see all entries.',
  },
  clear: 'Clear filter',
  restore: {
    action: 'Restore',
    title: (table: string) => `Restore files of ${table}?`,
    files: (files: string, bytes: string) => `${files} (${bytes}) go back to where they were.`,
    snapshots: (count: number) => `${formatPlural(count, 'expired snapshot')} can be read again.`,
    refs: (names: string) => `These branches and tags come back: ${names}.`,
    leftOut: (count: number) =>
      `${formatPlural(count, 'snapshot')} cannot come back, because files are missing or in use.`,
    missing: (count: number) => `${formatPlural(count, 'file')} no longer exist.`,
    unchanged: 'The current snapshot and its rows do not change.',
    done: 'Restored',
  },
  purge: {
    action: 'Delete now',
    title: (table: string) => `Delete files of ${table} for good?`,
    consequences: (files: string, bytes: string): readonly string[] => [
      `${files} (${bytes}) are deleted now. This cannot be undone.`,
      'A file that a table needs again is kept.',
    ],
    done: (files: string) => `${files} deleted`,
  },
} as const
