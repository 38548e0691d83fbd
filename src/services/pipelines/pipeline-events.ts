import { createDefinitionStore } from '../../storage/stores/definition-store.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { EventWriter } from '../events/event-log.ts'

/** What happens to pipelines; see docs/api.md#streaming-pipelines. */
export type PipelineEventType =
  `pipeline.${'started' | 'stopping' | 'stopped' | 'failed' | 'degraded' | 'diverted' | 'recovered' | 'deleted'}`

/** Something that happened to a pipeline, with the pipeline as it is afterwards. */
export interface PipelineEvent {
  readonly type: PipelineEventType
  readonly pipeline: PipelineRecord
  /** What else there is to say. */
  readonly details?: Readonly<Record<string, string>> | undefined
}

/** Appends an event of a pipeline to the event log, in the transaction of the change. */
export async function appendPipelineEvent(
  events: EventWriter,
  tx: Tx,
  { type, pipeline, details }: PipelineEvent,
): Promise<void> {
  const { id, definitionId, error } = pipeline
  const definition = definitionId === undefined ? undefined : await createDefinitionStore(tx).find(definitionId)
  const isFailure = type === 'pipeline.failed' || type === 'pipeline.degraded'
  await events.append(tx, {
    type,
    objectType: 'pipeline',
    objectId: id,
    data: {
      ...details,
      id,
      run_id: pipeline.runId,
      source_table: pipeline.sources.join(', '),
      source_tables: [...pipeline.sources],
      sink_table: pipeline.sinkTable,
      ...(type === 'pipeline.diverted' ? divertedIn(pipeline) : {}),
      definition_id: definitionId ?? null,
      definition: definition?.name ?? null,
      version_id: pipeline.versionId ?? null,
      environment: pipeline.environment ?? null,
      error: isFailure && error !== undefined ? { code: error.code, message: error.message } : null,
    },
  })
}

/** What the last batch of a pipeline diverted. */
function divertedIn({ options, progress }: PipelineRecord) {
  return {
    divert_tables: [...(options.diverts ?? [])],
    batch_id: progress?.batch_id ?? null,
    rows_diverted: progress?.rows_diverted ?? 0,
  }
}
