import type { Role } from '../roles.ts'

/** What stands in the list for one kind of operation on a table. */
export interface OperationEntry {
  /** What the operation does, imperative, without a full stop: in the API's document, the command line and the agent's tools. */
  readonly summary: string
  /** The request that starts the operation; undefined for an operation that another resource starts. */
  readonly request?: {
    /** The name in the API's document, from which clients are generated. */
    readonly id: string
    readonly path: `/api/${string}`
    readonly minRole: Role
    /** Fields of the request besides `table`, `dry_run` and `plan_id`, in the order of forms and of the command line's help. */
    readonly fields: readonly string[]
  }
  /** `destructive`: rows, columns, snapshots or files that a reader had are gone afterwards, so that a person confirms it. */
  readonly risk: 'change' | 'destructive'
  /** Figures of a preview and of a result that say what the operation does, the first one above all. */
  readonly figures: readonly string[]
  /** Whether a preview whose first figure is 0 has nothing to do. */
  readonly canBeEmpty?: true
  /** What pipelines of the table may miss afterwards: something of the table, or the column in the field `name`. */
  readonly affects?: 'table' | 'column'
  /** Whether a full scan reads other files afterwards, so that a receipt measures it before and after. */
  readonly changesScans?: true
  /** Whether the health report recommends the operation when there is work for its default options. */
  readonly byHealth?: true
  /** Whether a policy can run the operation; policies run them in the order of this list. */
  readonly byPolicy?: true
  /** Whether the page can start the operation for many tables at once, with default options. */
  readonly inBulk?: true
  /** The agent's tool that proposes the operation; undefined: only people start it. */
  readonly tool?: { readonly name: string; readonly title: string; readonly examples: readonly string[] }
}

/**
 * Every operation on a table, by its name in the ledger and in the API (docs/api.md#table-operations). Routes, the API's
 * document, policies, receipts, the agent's tools, the command line and the page derive from this list. Where an operation
 * also needs code, a record over {@link OperationKind} makes the compiler ask for it.
 */
export const OPERATIONS = {
  compact: {
    summary: 'Rewrite small files and files with deletes into fewer, larger ones',
    request: {
      id: 'compactTable',
      path: '/api/compact',
      minRole: 'DataEngineer',
      fields: [
        'strategy',
        'sort_order',
        'columns',
        'where',
        'target_file_size_bytes',
        'min_file_size_bytes',
        'max_file_size_bytes',
        'min_input_files',
        'delete_file_threshold',
        'delete_ratio_threshold',
        'max_files_to_rewrite',
        'max_bytes_to_rewrite',
        'method',
        'min_row_group_size_bytes',
        'verify',
        'on_conflict',
        'rewrite_all',
        'partial_progress',
        'engine',
      ],
    },
    risk: 'change',
    figures: ['rewritten_data_files_count', 'added_data_files_count', 'rewritten_bytes_count'],
    canBeEmpty: true,
    changesScans: true,
    byHealth: true,
    byPolicy: true,
    inBulk: true,
    tool: {
      name: 'compact',
      title: 'Compact a table',
      examples: [
        'Compact {table}',
        'Run a compaction of {table}',
        'Optimize {table}',
        'Compact everything that needs it',
        'Do a compaction of table {table}',
        'Merge the small files of {table}',
        'Rewrite the small files of {table}',
      ],
    },
  },
  convert_deletes: {
    summary: 'Replace equality deletes by position deletes or deletion vectors of the rows that they remove',
    request: {
      id: 'convertDeletes',
      path: '/api/convert-deletes',
      minRole: 'DataEngineer',
      fields: ['where'],
    },
    risk: 'change',
    figures: ['converted_delete_files_count', 'added_delete_files_count', 'read_bytes_count'],
    canBeEmpty: true,
    changesScans: true,
    byHealth: true,
    byPolicy: true,
    inBulk: true,
    tool: {
      name: 'convert_deletes',
      title: 'Convert equality deletes',
      examples: [
        'Convert the equality deletes of {table}',
        'Convert equality deletes of {table}',
        'Run a conversion of the equality deletes of {table}',
      ],
    },
  },
  rewrite_position_deletes: {
    summary: 'Merge small position delete files and drop those that delete nothing',
    request: {
      id: 'rewritePositionDeletes',
      path: '/api/rewrite-position-deletes',
      minRole: 'DataEngineer',
      fields: ['where', 'target_file_size_bytes', 'min_input_files', 'rewrite_all'],
    },
    risk: 'change',
    figures: ['rewritten_delete_files_count', 'added_delete_files_count', 'rewritten_bytes_count'],
    canBeEmpty: true,
    changesScans: true,
    byHealth: true,
    byPolicy: true,
    inBulk: true,
    tool: {
      name: 'rewrite_position_deletes',
      title: 'Rewrite position deletes',
      examples: [
        'Rewrite position deletes of {table}',
        'Merge the small position delete files of {table}',
        'Clean up the delete files of {table}',
      ],
    },
  },
  rewrite_manifests: {
    summary: 'Merge manifests to their target size',
    request: {
      id: 'rewriteManifests',
      path: '/api/rewrite-manifests',
      minRole: 'DataEngineer',
      fields: ['engine'],
    },
    risk: 'change',
    figures: ['rewritten_manifests_count', 'added_manifests_count'],
    canBeEmpty: true,
    changesScans: true,
    byHealth: true,
    byPolicy: true,
    inBulk: true,
    tool: {
      name: 'rewrite_manifests',
      title: 'Rewrite manifests',
      examples: [
        'Rewrite the manifests of {table}',
        'Merge the manifests of {table}',
        'Compact the manifests of {table}',
        'Rewrite the manifests of all tables',
      ],
    },
  },
  expire: {
    summary: 'Expire old snapshots and delete the files that only they reference',
    request: {
      id: 'expireSnapshots',
      path: '/api/expire',
      minRole: 'DataEngineer',
      fields: ['older_than', 'retain_last', 'snapshot_ids', 'clean_expired_metadata', 'delete_foreign_files'],
    },
    risk: 'destructive',
    figures: ['expired_snapshots_count', 'deleted_data_files_count'],
    affects: 'table',
    canBeEmpty: true,
    byHealth: true,
    byPolicy: true,
    inBulk: true,
    tool: {
      name: 'expire_snapshots',
      title: 'Expire snapshots',
      examples: [
        'Expire snapshots of {table} older than {time}',
        'Expire all snapshots of {table} but the last {count}',
        'Expire snapshots of {table} and keep {count}',
        'Clean up old snapshots of {table}',
        'Remove old snapshots of {table}',
        'Run an expiry of {table}',
        'Expire {table}',
      ],
    },
  },
  remove_orphans: {
    summary: 'Delete files of the table that no snapshot references and that are at least 24 hours old',
    request: {
      id: 'removeOrphanFiles',
      path: '/api/remove-orphans',
      minRole: 'LeadDataEngineer',
      fields: ['older_than', 'engine'],
    },
    risk: 'destructive',
    figures: ['orphan_files_count', 'freed_bytes'],
    canBeEmpty: true,
    byPolicy: true,
  },
  add_column: {
    summary: 'Add an optional column, or a field of a struct',
    request: {
      id: 'addColumn',
      path: '/api/evolve/add-column',
      minRole: 'DataEngineer',
      fields: ['name', 'type', 'first', 'after', 'comment'],
    },
    risk: 'change',
    figures: ['field_id'],
    tool: {
      name: 'add_column',
      title: 'Add a column',
      examples: [
        'Add column {column} {type} to {table}',
        'Add a new column {column} of type {type} to {table}',
        'Create a column {column} {type} in {table}',
        'Add a {type} column {column} to {table}',
      ],
    },
  },
  rename_column: {
    summary: 'Rename a column; its data and id do not change',
    request: {
      id: 'renameColumn',
      path: '/api/evolve/rename-column',
      minRole: 'DataEngineer',
      fields: ['name', 'new_name', 'force'],
    },
    risk: 'change',
    figures: ['field_id'],
    affects: 'column',
    tool: {
      name: 'rename_column',
      title: 'Rename a column',
      examples: [
        'Rename column {column} to {column} in {table}',
        'Rename the column {column} of {table} to {column}',
        'Rename {column} to {column} in {table}',
        'Change the name of column {column} to {column} in {table}',
      ],
    },
  },
  drop_column: {
    summary: 'Drop a column that nothing in the table depends on',
    request: {
      id: 'dropColumn',
      path: '/api/evolve/drop-column',
      minRole: 'DataEngineer',
      fields: ['name', 'force'],
    },
    risk: 'destructive',
    figures: ['field_id'],
    affects: 'column',
    tool: {
      name: 'drop_column',
      title: 'Drop a column',
      examples: [
        'Drop column {column} from {table}',
        'Remove the column {column} from {table}',
        'Drop the {column} column of {table}',
        'Delete column {column} of {table}',
      ],
    },
  },
  rollback: {
    summary: 'Roll back to an earlier snapshot, or to the state at a time',
    request: {
      id: 'rollbackToSnapshot',
      path: '/api/rollback',
      minRole: 'LeadDataEngineer',
      fields: ['snapshot_id', 'to_timestamp', 'accept_pipelines'],
    },
    risk: 'destructive',
    figures: ['undone_snapshots_count'],
    affects: 'table',
  },
  restore: {
    summary: 'Put files back that an operation moved into quarantine',
    risk: 'change',
    figures: ['restored_snapshots_count', 'restored_files_count'],
  },
} as const satisfies Readonly<Record<string, OperationEntry>>

type Operations = typeof OPERATIONS

/** The kinds of operations that change a table. */
export type OperationKind = keyof Operations

/** Kinds whose entry has a property. */
type KindWith<K extends keyof OperationEntry> = {
  [Kind in OperationKind]: Operations[Kind] extends { readonly [P in K]: unknown } ? Kind : never
}[OperationKind]

/** Kinds that a request of their own starts. */
export type RequestedKind = KindWith<'request'>

/** Fields of the request of an operation. */
export type FieldOf<Kind extends RequestedKind> = Operations[Kind]['request']['fields'][number]

/** Kinds that the health report recommends. */
export type RecommendedKind = KindWith<'byHealth'>

/** Kinds that a policy can run. */
export type PolicyOperation = KindWith<'byPolicy'>

/** Kinds that the page can start for many tables. */
export type BulkKind = KindWith<'inBulk'>

/** Kinds that the agent may propose. */
export type ProposableKind = KindWith<'tool'>

/** The entry of an operation with all properties of an entry; the list itself has narrower types. */
export function operationEntry(kind: OperationKind): OperationEntry {
  return OPERATIONS[kind]
}

/** Whether a preview or a result has nothing to do, or did nothing. */
export function isWithoutEffect(kind: OperationKind, details: Readonly<Record<string, unknown>>): boolean {
  const { canBeEmpty, figures } = operationEntry(kind)
  const [first = ''] = figures
  const refs = details['removed_refs'] // expiry also removes branches and tags that are too old
  return canBeEmpty === true && details[first] === 0 && !(Array.isArray(refs) && refs.length > 0)
}

/** Bytes that an operation reads, from its preview, its result or a projection; undefined when they have no such figure. */
export function readBytes(figures: Readonly<Record<string, unknown>>): number | undefined {
  const bytes = figures['rewritten_bytes_count'] ?? figures['read_bytes_count']
  return typeof bytes === 'number' ? bytes : undefined
}

/** Why the embedded engine does the work of a service without Spark (`engine_reason`). */
export const ONLY_EMBEDDED = 'no Spark server is configured (SPARK_REMOTE)'

/** Kinds that a request of their own starts, in the order of the list. */
export const REQUESTED_KINDS = kindsWith('request')

/** Kinds that a policy can run, in the order in which a policy runs them on a table. */
export const POLICY_OPERATIONS = kindsWith('byPolicy')

/** Kinds that the page can start for many tables. */
export const BULK_KINDS = kindsWith('inBulk')

/** Kinds that the agent may propose. */
export const PROPOSABLE_KINDS = kindsWith('tool')

/** Whether a text of the ledger or of a plan names an operation. */
export function isOperationKind(text: string): text is OperationKind {
  return Object.hasOwn(OPERATIONS, text)
}

function kindsWith<K extends keyof OperationEntry>(property: K): readonly KindWith<K>[] {
  return Object.keys(OPERATIONS).filter(
    (kind): kind is KindWith<K> => isOperationKind(kind) && property in OPERATIONS[kind],
  )
}
