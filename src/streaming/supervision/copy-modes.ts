import type { PipelineOptions } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { CopyModes } from '../query/copy-query.ts'

/** What a pipeline without a version reads, and how it writes. */
export function copyModesOf({
  read,
  write,
  updateKey,
  onSchemaChange,
}: Pick<PipelineOptions, 'read' | 'write' | 'updateKey' | 'onSchemaChange'>): CopyModes {
  return { read: read ?? 'appends', write: write ?? { mode: 'append' }, updateKey, onSchemaChange }
}
