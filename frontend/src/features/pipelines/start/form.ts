import type { ReadMode, SchemaChange, WriteMode } from '../../../../../src/domain/pipelines/modes.ts'
import type { Pipeline, StartPipelineRequest } from '../../../api/types.ts'
import { NO_START_CHOICE, type StartChoice } from '../../../components/start-from/start-choice.ts'

/** The values of the start form, named after the fields of the request; `max_bytes_per_batch` is in MiB. */
export interface StartForm extends StartChoice {
  readonly mode: 'copy' | 'version'
  readonly source_table: string
  readonly sink_table: string
  readonly definition_id: string
  readonly version_id: string
  readonly checkpoint_location: string
  /** The location is the form's own proposal, which follows the tables. */
  readonly is_proposed: boolean
  readonly trigger_interval: string
  readonly create_sink_table: boolean
  /** Create a policy for the sink; for leads. */
  readonly maintain_sink: boolean
  readonly read: ReadMode
  readonly write: WriteMode
  /** Columns that identify a row. */
  readonly key: readonly string[]
  /** Empty: columns are added to a sink that a pipeline created. */
  readonly on_schema_change: '' | SchemaChange
  readonly on_delete: 'fail' | 'skip'
  /** Empty: the service chooses as it did before, or by its default. */
  readonly engine: '' | NonNullable<StartPipelineRequest['engine']>
  readonly max_files_per_batch: string
  readonly max_bytes_per_batch: string
}

export const EMPTY_START_FORM: StartForm = {
  mode: 'copy',
  source_table: '',
  sink_table: '',
  definition_id: '',
  version_id: '',
  checkpoint_location: '',
  is_proposed: true,
  trigger_interval: '5 seconds',
  ...NO_START_CHOICE,
  create_sink_table: false,
  maintain_sink: false,
  read: 'appends',
  write: 'append',
  key: [],
  on_schema_change: '',
  on_delete: 'fail',
  engine: '',
  max_files_per_batch: '',
  max_bytes_per_batch: '',
}

const MEBIBYTE = 2 ** 20

/** Whether a form copies what is appended by appending it; a version says itself what it does. */
export function isPlainCopy({ mode, read, write }: Pick<StartForm, 'mode' | 'read' | 'write'>): boolean {
  return mode === 'version' || (read === 'appends' && write === 'append')
}

/** The fields that the form shows, of those that depend on others. */
export function isShown(field: string, form: Pick<StartForm, 'mode' | 'read' | 'write'>): boolean {
  const isCopy = form.mode === 'copy'
  switch (field) {
    case 'version_id':
      return !isCopy
    case 'read':
    case 'write':
    case 'on_schema_change':
      return isCopy
    case 'key':
    case 'engine':
      return (field === 'engine') === isPlainCopy(form)
    case 'on_delete':
      return !isCopy || form.read === 'appends'
    default:
      return isCopy || !field.endsWith('_table')
  }
}

/** What a sink that a start creates is made for. */
export function sinkLayout({ read, write }: Pick<StartForm, 'read' | 'write'>): 'copy' | 'log' | 'merge' {
  if (write !== 'append') return 'merge'
  return read === 'changes' ? 'log' : 'copy'
}

/** Whether a mirror has nothing that says which rows are deleted: neither changes nor a log of them. */
export function lacksChanges(
  { read, write }: Pick<StartForm, 'read' | 'write'>,
  columns: readonly { readonly name: string; readonly type: string }[] | undefined,
): boolean {
  if (read === 'changes' || write !== 'mirror' || columns === undefined) return false
  return !columns.some(({ name, type }) => name === '_change_type' && type === 'string')
}

/** A request that restarts a pipeline from its checkpoint, with the same settings. */
export function restartRequest(pipeline: Pipeline): StartPipelineRequest {
  const tables =
    pipeline.version_id === null
      ? {
          ...(pipeline.source_table === null ? {} : { source_table: pipeline.source_table }),
          sink_table: pipeline.sink_table,
          ...modesOf(pipeline),
          ...(pipeline.create_sink_table ? { create_sink_table: true } : {}),
        }
      : { version_id: pipeline.version_id }
  return {
    ...tables,
    checkpoint_location: pipeline.checkpoint_location,
    trigger_interval: pipeline.trigger_interval,
    on_delete: pipeline.on_delete,
    engine: pipeline.engine,
    max_files_per_batch: pipeline.max_files_per_batch,
    max_bytes_per_batch: pipeline.max_bytes_per_batch,
  }
}

function modesOf({ read, write, key, on_schema_change: change }: Pipeline): Partial<StartPipelineRequest> {
  return {
    ...(read && { read }),
    ...(write && { write }),
    ...(key && { key: [...key] }),
    ...(change && { on_schema_change: change }),
  }
}

/**
 * A checkpoint folder for a new pipeline into a table: `checkpoints/<sink>`, with a number when another pipeline has
 * that one. Each pipeline has its own, so that no one resumes from another pipeline's checkpoint by accident.
 */
export function proposeCheckpoint(sinkTable: string, taken: readonly string[]): string {
  const name = sinkTable.trim().replaceAll(/[^\p{L}\p{N}._-]+/gu, '-') || 'pipeline'
  const proposal = (n: number): string => `checkpoints/${n === 1 ? name : `${name}-${n}`}`
  const isTaken = (path: string): boolean => taken.some((location) => isSameFolder(location, path))
  let n = 1
  while (isTaken(proposal(n))) n += 1
  return proposal(n)
}

/** Whether a location that is typed in is, or ends like, the checkpoint of a pipeline. */
export function isCheckpointOf({ checkpoint_location: location }: Pipeline, typed: string): boolean {
  return typed.trim() !== '' && isSameFolder(location, typed.trim())
}

/** The page does not know the base folder of relative paths, so it compares the end of the path. */
function isSameFolder(location: string, path: string): boolean {
  const plain = path.replace(/\/+$/, '')
  return location.replace(/\/+$/, '') === plain || location.replace(/\/+$/, '').endsWith(`/${plain}`)
}

/** The form, filled with the settings of a pipeline. */
export function toStartForm(pipeline: Pipeline): StartForm {
  return {
    mode: pipeline.version_id === null ? 'copy' : 'version',
    source_table: pipeline.source_table ?? '',
    sink_table: pipeline.sink_table,
    definition_id: pipeline.definition_id ?? '',
    version_id: pipeline.version_id ?? '',
    checkpoint_location: pipeline.checkpoint_location,
    is_proposed: false,
    trigger_interval: pipeline.trigger_interval,
    ...NO_START_CHOICE,
    create_sink_table: pipeline.create_sink_table,
    maintain_sink: false,
    read: pipeline.read ?? 'appends',
    write: pipeline.write ?? 'append',
    key: pipeline.key ?? [],
    on_schema_change: pipeline.on_schema_change ?? '',
    on_delete: pipeline.on_delete,
    engine: pipeline.engine,
    max_files_per_batch: String(pipeline.max_files_per_batch),
    max_bytes_per_batch: String(Math.max(1, Math.round(pipeline.max_bytes_per_batch / MEBIBYTE))),
  }
}

/** The messages of a refusal by field, and those of no field; problems of nodes, such as `nodes.2`, are the version's. */
export function fieldErrorsOf(errors: readonly { readonly path: string; readonly message: string }[]): {
  readonly fields: Readonly<Record<string, string>>
  readonly rest: readonly string[]
} {
  const fields: Record<string, string> = {}
  const rest: string[] = []
  for (const { path, message } of errors) {
    const field = path.startsWith('nodes.')
      ? 'version_id'
      : path
          .replace('from.', 'from_')
          .replace(/^key\.\d+$/, 'key')
          .replace(/^into_branch\..*/, 'into_branch')
    if (!Object.hasOwn(EMPTY_START_FORM, field)) rest.push(message)
    else fields[field] = fields[field] === undefined ? message : `${fields[field]}; ${message}`
  }
  return { fields, rest }
}
