import { queryOptions } from '@tanstack/react-query'
import type { Position } from '../../../../src/domain/graph.ts'
import { type Graph, lacksPositions, moveNodes } from './graph.ts'

/** Positions for all nodes of a graph, computed in a worker thread, because large graphs take seconds. */
export function arrange({ nodes, edges }: Graph, signal?: AbortSignal): Promise<ReadonlyMap<string, Position>> {
  const worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' })
  const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, Position>>()
  worker.addEventListener('message', ({ data }: MessageEvent<ReadonlyMap<string, Position>>) => resolve(data))
  worker.addEventListener('error', ({ message }) => reject(new Error(message || 'the layout worker did not load')))
  signal?.addEventListener('abort', () => reject(signal.reason as Error))
  worker.postMessage({ nodeIds: nodes.map(({ id }) => id), edges })
  return promise.finally(() => worker.terminate())
}

/** A graph as it is drawn: arranged if its nodes have no positions, else unchanged. `id` identifies the graph's content. */
export const arrangedQuery = (id: string, graph: Graph) =>
  queryOptions({
    queryKey: ['arranged-graph', id],
    queryFn: async ({ signal }) => moveNodes(graph, await arrange(graph, signal)),
    initialData: () => (lacksPositions(graph) ? undefined : graph),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
