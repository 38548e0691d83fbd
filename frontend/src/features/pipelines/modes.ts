import { useQuery } from '@tanstack/react-query'
import { READ_MODES, type ReadMode, WRITE_MODES, type WriteMode } from '../../../../src/domain/pipelines/modes.ts'
import { versionQuery } from '../../api/definitions.ts'
import type { GraphNode, Pipeline } from '../../api/types.ts'
import type { Sample } from './monitor/sample.ts'

/** What a pipeline reads, how it writes, and the columns that identify a row; null: none, or not known. */
export interface PipelineModes {
  /** `mixed`: the sources of a version are read in different ways. */
  readonly read: ReadMode | 'mixed' | null
  readonly write: WriteMode | null
  readonly key: readonly string[] | null
}

const UNKNOWN: PipelineModes = { read: null, write: null, key: null }

/** The modes of a pipeline: its own, or those of the nodes of its version. */
export function usePipelineModes(pipeline: Pipeline): PipelineModes {
  const { definition_id: definitionId, version_id: versionId } = pipeline
  const isVersion = definitionId !== null && versionId !== null
  const { data: version } = useQuery({ ...versionQuery(definitionId ?? '', versionId ?? ''), enabled: isVersion })
  if (!isVersion) return pipeline
  return version === undefined ? UNKNOWN : modesOfGraph(version.nodes)
}

/** What the sources of a graph read, and how its sink is written. */
export function modesOfGraph(nodes: readonly Pick<GraphNode, 'type' | 'config'>[]): PipelineModes {
  const sink = nodes.find(({ type }) => type === 'iceberg-sink')?.config ?? {}
  const reads = nodes
    .filter(({ type }) => type === 'iceberg-source')
    .map(({ config }) => modeIn(READ_MODES, config['read']))
  const [read = null] = reads
  const key = Array.isArray(sink['key']) ? sink['key'].filter((name) => typeof name === 'string') : []
  return {
    read: reads.some((other) => other !== read) ? 'mixed' : read,
    write: modeIn(WRITE_MODES, sink['write']),
    key: key.length === 0 ? null : key,
  }
}

/** The mode that a config names, by default the first one. */
function modeIn<Mode extends string>(modes: readonly [Mode, ...Mode[]], value: unknown): Mode {
  return modes.find((mode) => mode === value) ?? modes[0]
}

/** Whether a pipeline replaces or deletes rows of its sink; where its modes are not known, what it did shows it. */
export function isMerging({ write }: Pick<PipelineModes, 'write'>, samples: readonly Sample[]): boolean {
  if (write !== null) return write !== 'append'
  return samples.some(({ merged: { updated, deleted } }) => updated + deleted > 0)
}
