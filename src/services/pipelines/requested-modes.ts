import type { StartPipelineRequest } from '../../schemas/pipelines.ts'
import { resolveCheckpointLocation } from '../../streaming/checkpoint/location.ts'
import type { CopyModes } from '../../streaming/query/copy-query.ts'
import { refuse } from '../../streaming/run/start-checks.ts'
import { copyModesOf } from '../../streaming/supervision/copy-modes.ts'
import type { CompiledVersion, PipelineServiceDeps } from './pipeline-deps.ts'

const MODE_FIELDS = ['read', 'write', 'key'] as const

/**
 * What a pipeline reads and how it writes, as a request says; undefined when its version says it. A pipeline that is started again
 * without read, write and key keeps its own: a mirror that only appended would have rows twice. `INVALID_REQUEST` with the field that is
 * missing or must not be given.
 */
export async function requestedModes(
  { store, roots }: Pick<PipelineServiceDeps, 'store' | 'roots'>,
  request: StartPipelineRequest,
  version: CompiledVersion | undefined,
): Promise<CopyModes | undefined> {
  if (version !== undefined) return refuseModes(request)
  if (MODE_FIELDS.some((field) => request[field] !== undefined)) return copyModes(request)
  const known = await store.findByCheckpoint(await resolveCheckpointLocation(request.checkpoint_location, roots(), []))
  const modes = copyModesOf(known?.options ?? {})
  return { ...modes, onSchemaChange: request.on_schema_change ?? modes.onSchemaChange }
}

/** The modes that a request names; throws `INVALID_REQUEST` for a key that is missing or has no meaning. */
export function copyModes({
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
  const given = [...MODE_FIELDS, 'on_schema_change' as const].find((field) => request[field] !== undefined)
  if (given === undefined) return undefined
  throw refuse('INVALID_REQUEST', given, 'cannot be given together with version_id: the nodes of the version say it')
}
