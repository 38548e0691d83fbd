import { createHash } from 'node:crypto'

import { canonicalGraph, type PipelineGraph } from '../domain/graph.ts'

/** SHA-256, in hex, of the canonical text of a graph; see `canonicalGraph`. */
export function contentHash(graph: PipelineGraph): string {
  return createHash('sha256').update(canonicalGraph(graph)).digest('hex')
}
