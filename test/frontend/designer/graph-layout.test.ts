import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NODE_SIZE } from '../../../frontend/src/components/graph/graph.ts'
import { layOut } from '../../../frontend/src/components/graph/layout.ts'

const edge = (source: string, target: string) => ({ source, target })

describe('the layout of a graph', () => {
  it('puts each node to the right of all its inputs', () => {
    const edges = [edge('a', 'b'), edge('b', 'd'), edge('a', 'd'), edge('c', 'd')]
    const positions = layOut({ nodeIds: ['d', 'c', 'b', 'a'], edges })
    for (const { source, target } of edges) {
      const gap = (positions.get(target)?.x ?? 0) - (positions.get(source)?.x ?? 0)
      expect(gap).toBeGreaterThan(NODE_SIZE.width)
    }
  })

  it('gives every node a position without overlaps, for any ids and edges', () => {
    const id = fc.oneof(fc.stringMatching(/^[a-e]{1,2}$/), fc.constantFrom('__proto__', 'constructor', 'toString'))
    const links = fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { maxLength: 60 })
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 20 }), links, (nodeIds, pairs) => {
        const edges = pairs.map(([a, b]) => edge(nodeIds[a] ?? 'unknown', nodeIds[b] ?? 'unknown'))
        const positions = layOut({ nodeIds, edges })
        expect([...positions.keys()]).toEqual(nodeIds)
        const all = [...positions.values()]
        for (const [index, one] of all.entries()) {
          for (const other of all.slice(index + 1)) {
            const apart = Math.abs(one.x - other.x) >= NODE_SIZE.width || Math.abs(one.y - other.y) >= NODE_SIZE.height
            expect(apart, JSON.stringify([one, other])).toBe(true)
          }
        }
      }),
      { numRuns: 50 },
    )
  })

  it('gives the same positions for the same graph', () => {
    const request = { nodeIds: ['a', 'b', 'c', 'd'], edges: [edge('a', 'c'), edge('b', 'c'), edge('b', 'd')] }
    expect(layOut(request)).toEqual(layOut(request))
  })
})
