import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Position } from '../../../../src/domain/graph.ts'
import { arrange } from '../../components/graph/arrange.ts'
import type { VisibleGraph } from './graph-model.ts'

/** The positions of the visible nodes, sources on the left; computed in a worker. */
export const layoutQuery = ({ ids, edges }: VisibleGraph) =>
  queryOptions({
    queryKey: ['lineage-layout', [...ids].toSorted(), edges.map(({ id }) => id).toSorted()],
    queryFn: ({ signal }): Promise<ReadonlyMap<string, Position>> => {
      const nodes = [...ids].map((id) => ({ id, type: '', config: {}, position: { x: 0, y: 0 } }))
      return arrange({ nodes, edges: edges.map(({ id, from, to }) => ({ id, source: from, target: to })) }, signal)
    },
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    retry: false,
  })
