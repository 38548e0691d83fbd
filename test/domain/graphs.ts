import fc from 'fast-check'
import type { PipelineGraph } from '../../src/domain/graph.ts'

const id = fc.string({ minLength: 1, maxLength: 4, unit: 'grapheme' })
const json = fc.jsonValue({ maxDepth: 3 })
const config = fc.dictionary(
  fc.string({ maxLength: 6 }).filter((name) => name !== '__proto__'),
  json,
  { maxKeys: 4 },
)
const coordinate = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))

/** Good graphs: edges lead from earlier nodes to later ones. */
export const graphs: fc.Arbitrary<PipelineGraph> = fc
  .uniqueArray(fc.record({ id, type: id, config, position: fc.record({ x: coordinate, y: coordinate }) }), {
    selector: (node) => node.id,
    maxLength: 8,
  })
  .chain((nodes) => {
    const ends = fc.tuple(
      fc.nat({ max: Math.max(0, nodes.length - 1) }),
      fc.nat({ max: Math.max(0, nodes.length - 1) }),
    )
    return fc.uniqueArray(fc.record({ id, ends }), { selector: (edge) => edge.id, maxLength: 8 }).map((edges) => ({
      nodes,
      edges: edges.flatMap(({ id: edgeId, ends: [a, b] }) => {
        const source = nodes[Math.min(a, b)]
        const target = nodes[Math.max(a, b)]
        return source && target && source !== target ? [{ id: edgeId, source: source.id, target: target.id }] : []
      }),
    }))
  })

/** As it comes back from where JSON is stored. */
export function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}
