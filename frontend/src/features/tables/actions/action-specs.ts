import type { RequestedKind } from '../../../../../src/domain/tables/operations.ts'
import { operations } from '../../../strings/everywhere/common.ts'
import { fields as words } from '../../../strings/table-actions.ts'

/** Everything that the page can do to a table. */
export type ActionKind = RequestedKind

/** What a field takes; `values` of a form are texts, and `true` for a ticked box. */
export type FieldType =
  | 'text'
  | 'code'
  | 'count'
  | 'ratio'
  | 'size'
  | 'time'
  | 'ids'
  | 'flag'
  | 'choice'
  | 'column'
  | 'columns'
  | 'column-type'
  | 'snapshot'

export interface FieldSpec {
  /** As the request names it. */
  readonly name: string
  readonly type: FieldType
  readonly label: string
  readonly hint?: string
  readonly required?: boolean
  /** Shown under "More options". */
  readonly advanced?: boolean
  /** By value; the empty one leaves the field out. */
  readonly choices?: Readonly<Record<string, string>>
  /** Only shown while another field has this value, or one of these. */
  readonly when?: { readonly field: string; readonly is: string | readonly string[] }
  /** Not a field of the request: it decides about others. */
  readonly local?: boolean
}

export interface ActionSpec {
  readonly fields: readonly FieldSpec[]
  /** The field that a column or snapshot of the address fills. */
  readonly targetField?: string
  /** The field that a time of the address fills (RFC 3339). */
  readonly targetTimeField?: string
}

const ENGINE: FieldSpec = {
  name: 'engine',
  type: 'choice',
  label: words.engine,
  hint: words.engineHint,
  choices: operations.engines,
  advanced: true,
}

const COMPACT: readonly FieldSpec[] = [
  { name: 'strategy', type: 'choice', label: words.strategy, choices: words.strategies },
  {
    name: 'sort_order',
    type: 'code',
    label: words.sort_order,
    hint: words.sort_orderHint,
    when: { field: 'strategy', is: 'sort' },
  },
  {
    name: 'columns',
    type: 'columns',
    label: words.columns,
    hint: words.columnsHint,
    when: { field: 'strategy', is: ['zorder', 'hilbert'] },
  },
  { name: 'where', type: 'code', label: words.where, hint: words.whereHint },
  {
    name: 'target_file_size_bytes',
    type: 'size',
    label: words.target_file_size_bytes,
    hint: words.sizeHint,
    advanced: true,
  },
  { name: 'min_file_size_bytes', type: 'size', label: words.min_file_size_bytes, advanced: true },
  { name: 'max_file_size_bytes', type: 'size', label: words.max_file_size_bytes, advanced: true },
  {
    name: 'min_input_files',
    type: 'count',
    label: words.min_input_files,
    hint: words.min_input_filesHint,
    advanced: true,
  },
  { name: 'delete_file_threshold', type: 'count', label: words.delete_file_threshold, advanced: true },
  {
    name: 'delete_ratio_threshold',
    type: 'ratio',
    label: words.delete_ratio_threshold,
    hint: words.delete_ratio_thresholdHint,
    advanced: true,
  },
  { name: 'max_files_to_rewrite', type: 'count', label: words.max_files_to_rewrite, advanced: true },
  {
    name: 'max_bytes_to_rewrite',
    type: 'size',
    label: words.max_bytes_to_rewrite,
    hint: words.max_bytes_to_rewriteHint,
    advanced: true,
  },
  {
    name: 'method',
    type: 'choice',
    label: words.method,
    hint: words.methodHint,
    choices: words.methods,
    advanced: true,
  },
  {
    name: 'min_row_group_size_bytes',
    type: 'size',
    label: words.min_row_group_size_bytes,
    hint: words.min_row_group_size_bytesHint,
    advanced: true,
  },
  {
    name: 'verify',
    type: 'choice',
    label: words.verify,
    hint: words.verifyHint,
    choices: words.verifications,
    advanced: true,
  },
  {
    name: 'on_conflict',
    type: 'choice',
    label: words.on_conflict,
    hint: words.onConflictHint,
    choices: words.conflictHandlings,
    advanced: true,
  },
  { name: 'rewrite_all', type: 'flag', label: words.rewrite_all, advanced: true },
  { name: 'partial_progress', type: 'flag', label: words.partial_progress, advanced: true },
  ENGINE,
]

const EXPIRE: readonly FieldSpec[] = [
  { name: 'older_than', type: 'time', label: words.older_than },
  { name: 'retain_last', type: 'count', label: words.retain_last, hint: words.retain_lastHint },
  { name: 'snapshot_ids', type: 'ids', label: words.snapshot_ids, hint: words.snapshot_idsHint, advanced: true },
  { name: 'clean_expired_metadata', type: 'flag', label: words.clean_expired_metadata, advanced: true },
  {
    name: 'delete_foreign_files',
    type: 'flag',
    label: words.delete_foreign_files,
    hint: words.delete_foreign_filesHint,
    advanced: true,
  },
]

const ADD_COLUMN: readonly FieldSpec[] = [
  { name: 'name', type: 'text', label: words.name, hint: words.nameHint, required: true },
  { name: 'type', type: 'column-type', label: words.type, hint: words.typeHint, required: true },
  { name: 'position', type: 'choice', label: words.position, choices: words.positions, local: true },
  { name: 'after', type: 'column', label: words.after, required: true, when: { field: 'position', is: 'after' } },
  { name: 'comment', type: 'text', label: words.comment },
]

const FORCE: FieldSpec = { name: 'force', type: 'flag', label: words.force, hint: words.forceHint, advanced: true }

/** Fields of compaction that mean the same for delete files. */
const REWRITE_DELETES: readonly FieldSpec[] = COMPACT.filter(({ name }) =>
  ['where', 'target_file_size_bytes', 'min_input_files', 'rewrite_all'].includes(name),
).map(byPartitions)

const CONVERT_DELETES: readonly FieldSpec[] = COMPACT.filter(({ name }) => name === 'where').map(byPartitions)

/** Delete files are chosen by whole partitions. */
function byPartitions(field: FieldSpec): FieldSpec {
  return field.name === 'where' ? { ...field, hint: words.wherePartitionsHint } : field
}

/** The form of each action. */
export const ACTIONS: Readonly<Record<ActionKind, ActionSpec>> = {
  compact: { fields: COMPACT },
  convert_deletes: { fields: CONVERT_DELETES },
  rewrite_position_deletes: { fields: REWRITE_DELETES },
  rewrite_manifests: { fields: [ENGINE] },
  expire: { fields: EXPIRE, targetField: 'snapshot_ids' },
  remove_orphans: {
    fields: [{ name: 'older_than', type: 'time', label: words.older_than, hint: words.older_thanOrphansHint }, ENGINE],
  },
  add_column: { fields: ADD_COLUMN },
  rename_column: {
    fields: [
      { name: 'name', type: 'column', label: words.column, required: true },
      { name: 'new_name', type: 'text', label: words.new_name, required: true },
      FORCE,
    ],
    targetField: 'name',
  },
  drop_column: {
    fields: [{ name: 'name', type: 'column', label: words.column, required: true }, FORCE],
    targetField: 'name',
  },
  rollback: {
    fields: [
      { name: 'by', type: 'choice', label: words.rollbackBy, choices: words.rollbackTargets, local: true },
      {
        name: 'snapshot_id',
        type: 'snapshot',
        label: words.snapshot_id,
        hint: words.snapshot_idHint,
        required: true,
        when: { field: 'by', is: '' },
      },
      {
        name: 'to_timestamp',
        type: 'time',
        label: words.to_timestamp,
        hint: words.to_timestampHint,
        required: true,
        when: { field: 'by', is: 'time' },
      },
    ],
    targetField: 'snapshot_id',
    targetTimeField: 'to_timestamp',
  },
}

/** Whether the text names an action. */
export function isActionKind(text: string | undefined): text is ActionKind {
  return text !== undefined && Object.hasOwn(ACTIONS, text)
}
