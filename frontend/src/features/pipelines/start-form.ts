import { parseTriggerInterval, TRIGGER_RULE } from '../../../../src/domain/trigger-interval.ts'
import type { Pipeline, StartPipelineRequest } from '../../api/types.ts'

/** The start form as it is filled in: texts as they stand in its fields. */
export interface StartForm {
  readonly mode: 'copy' | 'version'
  readonly sourceTable: string
  readonly sinkTable: string
  readonly definitionId: string
  readonly versionId: string
  readonly checkpointLocation: string
  /** Whether the location is the form's own proposal, which follows the tables. */
  readonly isProposed: boolean
  readonly triggerInterval: string
  readonly createSinkTable: boolean
  readonly onDelete: 'fail' | 'skip'
  readonly maxFiles: string
  readonly maxMegabytes: string
}

/** Fields of the request that a message can stand at. */
const START_FIELDS = [
  'source_table',
  'sink_table',
  'version_id',
  'checkpoint_location',
  'trigger_interval',
  'create_sink_table',
  'on_delete',
  'max_files_per_batch',
  'max_bytes_per_batch',
] as const

export type StartField = (typeof START_FIELDS)[number]

export type FieldErrors = { readonly [F in StartField]?: string }

export const EMPTY_START_FORM: StartForm = {
  mode: 'copy',
  sourceTable: '',
  sinkTable: '',
  definitionId: '',
  versionId: '',
  checkpointLocation: '',
  isProposed: true,
  triggerInterval: '5 seconds',
  createSinkTable: false,
  onDelete: 'fail',
  maxFiles: '',
  maxMegabytes: '',
}

const TABLE_NAME = /^[^./\\\p{Cc}]+(\.[^./\\\p{Cc}]+)+$/u
const MEGABYTE = 2 ** 20
const MAX_FILES = 1_000_000
/** So many that the bytes are still whole numbers. */
const MAX_MEGABYTES = 2 ** 32

/** The rules of the form in words that do not name a field. */
export interface StartRules {
  readonly required: string
  readonly tableName: string
  readonly sameTable: string
  readonly wholeNumber: string
}

/** What is wrong with a form by the rules that the server has too; the server has more, about tables and checkpoints. */
export function checkStartForm(form: StartForm, rules: StartRules): FieldErrors {
  const found: { [F in StartField]?: string | undefined } = {
    ...(form.mode === 'copy' ? tableErrors(form, rules) : { version_id: requiredError(form.versionId, rules) }),
    checkpoint_location: requiredError(form.checkpointLocation, rules),
    trigger_interval: parseTriggerInterval(form.triggerInterval) === undefined ? TRIGGER_RULE : undefined,
    max_files_per_batch: limitOf(form.maxFiles, MAX_FILES) === 'wrong' ? rules.wholeNumber : undefined,
    max_bytes_per_batch: limitOf(form.maxMegabytes, MAX_MEGABYTES) === 'wrong' ? rules.wholeNumber : undefined,
  }
  return Object.fromEntries(Object.entries(found).filter(([, message]) => message !== undefined))
}

function tableErrors({ sourceTable, sinkTable }: StartForm, rules: StartRules) {
  const isSame = sinkTable.trim() !== '' && sinkTable.trim() === sourceTable.trim()
  return {
    source_table: tableError(sourceTable, rules),
    sink_table: isSame ? rules.sameTable : tableError(sinkTable, rules),
  }
}

function requiredError(text: string, rules: StartRules): string | undefined {
  return text.trim() === '' ? rules.required : undefined
}

function tableError(name: string, rules: StartRules): string | undefined {
  if (name.trim() === '') return rules.required
  return TABLE_NAME.test(name.trim()) ? undefined : rules.tableName
}

function limitOf(text: string, max: number): number | 'wrong' | undefined {
  if (text.trim() === '') return undefined
  const value = /^\d{1,12}$/.test(text.trim()) ? Number(text) : Number.NaN
  return value >= 1 && value <= max ? value : 'wrong'
}

/** The request that a form without errors stands for; what has its default is left out. */
export function toStartRequest(form: StartForm): StartPipelineRequest {
  const maxFiles = limitOf(form.maxFiles, MAX_FILES)
  const maxMegabytes = limitOf(form.maxMegabytes, MAX_MEGABYTES)
  const tables =
    form.mode === 'version'
      ? { version_id: form.versionId }
      : {
          source_table: form.sourceTable.trim(),
          sink_table: form.sinkTable.trim(),
          ...(form.createSinkTable ? { create_sink_table: true } : {}),
        }
  return {
    ...tables,
    checkpoint_location: form.checkpointLocation.trim(),
    trigger_interval: form.triggerInterval.trim(),
    ...(form.onDelete === 'skip' ? { on_delete: form.onDelete } : {}),
    ...(typeof maxFiles === 'number' ? { max_files_per_batch: maxFiles } : {}),
    ...(typeof maxMegabytes === 'number' ? { max_bytes_per_batch: maxMegabytes * MEGABYTE } : {}),
  }
}

/** A request that goes on from the checkpoint of a pipeline, as it was started. */
export function restartRequest(pipeline: Pipeline): StartPipelineRequest {
  const tables =
    pipeline.version_id === null
      ? {
          ...(pipeline.source_table === null ? {} : { source_table: pipeline.source_table }),
          sink_table: pipeline.sink_table,
          ...(pipeline.create_sink_table ? { create_sink_table: true } : {}),
        }
      : { version_id: pipeline.version_id }
  return {
    ...tables,
    checkpoint_location: pipeline.checkpoint_location,
    trigger_interval: pipeline.trigger_interval,
    on_delete: pipeline.on_delete,
    max_files_per_batch: pipeline.max_files_per_batch,
    max_bytes_per_batch: pipeline.max_bytes_per_batch,
  }
}

/**
 * A checkpoint folder for a new pipeline into a table: `checkpoints/<sink>`, with a number when another pipeline has
 * that one. Each pipeline has its own; going on where another stood is a choice that nobody should make by accident.
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

/** Relative paths are meant against a folder that the page does not know: the end of the path has to do. */
function isSameFolder(location: string, path: string): boolean {
  const plain = path.replace(/\/+$/, '')
  return location.replace(/\/+$/, '') === plain || location.replace(/\/+$/, '').endsWith(`/${plain}`)
}

/** The form as a pipeline was started. */
export function toStartForm(pipeline: Pipeline): StartForm {
  return {
    mode: pipeline.version_id === null ? 'copy' : 'version',
    sourceTable: pipeline.source_table ?? '',
    sinkTable: pipeline.sink_table,
    definitionId: pipeline.definition_id ?? '',
    versionId: pipeline.version_id ?? '',
    checkpointLocation: pipeline.checkpoint_location,
    isProposed: false,
    triggerInterval: pipeline.trigger_interval,
    createSinkTable: pipeline.create_sink_table,
    onDelete: pipeline.on_delete,
    maxFiles: String(pipeline.max_files_per_batch),
    maxMegabytes: String(Math.max(1, Math.round(pipeline.max_bytes_per_batch / MEGABYTE))),
  }
}

/** The refusals of the server by their fields, and those that belong to none; `nodes.2` belongs to the version. */
export function fieldErrorsOf(errors: readonly { readonly path: string; readonly message: string }[]): {
  readonly fields: FieldErrors
  readonly rest: readonly string[]
} {
  const fields: { [F in StartField]?: string } = {}
  const rest: string[] = []
  for (const { path, message } of errors) {
    const field = path.startsWith('nodes.') ? 'version_id' : START_FIELDS.find((known) => known === path)
    if (field === undefined) rest.push(message)
    else fields[field] = fields[field] === undefined ? message : `${fields[field]}; ${message}`
  }
  return { fields, rest }
}
