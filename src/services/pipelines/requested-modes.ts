import type { StartPipelineRequest } from '../../schemas/pipelines.ts'
import type { CopyModes } from '../../streaming/query/copy-query.ts'
import type { PipelineRecord } from '../../storage/stores/pipeline-store.ts'
import { refuse } from '../../streaming/run/start-checks.ts'
import type { CompiledVersion } from './pipeline-deps.ts'

/**
 * What a pipeline reads and how it writes, as a request says; undefined when its version says it. `INVALID_REQUEST` with the field that
 * is missing or must not be given.
 */
export function requestedModes(
  request: StartPipelineRequest,
  version: CompiledVersion | undefined,
): CopyModes | undefined {
  return version === undefined ? copyModes(request) : refuseModes(request)
}

/** Refuses to start a pipeline again as a plain copy, only because the request does not repeat how it reads and writes. */
export function requireSameModes(request: StartPipelineRequest, known: PipelineRecord | undefined): void {
  const isSilent = MODE_FIELDS.every((field) => request[field] === undefined)
  if (known === undefined || known.versionId !== undefined || request.version_id !== undefined || !isSilent) return
  const { read = 'appends', write = { mode: 'append' } } = known.options
  if (read === 'appends' && write.mode === 'append') return
  const key = write.mode === 'append' ? '' : ` by ${write.key.join(', ')}`
  throw refuse(
    'CONFLICT',
    'write',
    `the pipeline of this checkpoint reads ${read} and writes with "${write.mode}"${key}: give read, write and key as before, or ` +
      'name other ones',
  )
}

const MODE_FIELDS = ['read', 'write', 'key'] as const

function copyModes({
  read = 'appends',
  write = 'append',
  key,
  on_schema_change: onSchemaChange,
}: StartPipelineRequest): CopyModes {
  if (write !== 'append') {
    if (key === undefined) throw refuse('INVALID_REQUEST', 'key', `is required to write with "${write}"`)
    return { read, write: { mode: write, key }, onSchemaChange }
  }
  if (key !== undefined && read === 'appends') {
    throw refuse('INVALID_REQUEST', 'key', 'is for pipelines that write with "upsert" or "mirror", or read "changes"')
  }
  return { read, write: { mode: write }, updateKey: key, onSchemaChange }
}

/** A version defines what its sources read and how its sink is written. */
function refuseModes(request: StartPipelineRequest): undefined {
  const given = ([...MODE_FIELDS, 'on_schema_change'] as const).find((field) => request[field] !== undefined)
  if (given === undefined) return undefined
  throw refuse('INVALID_REQUEST', given, 'cannot be given together with version_id: the nodes of the version say it')
}
