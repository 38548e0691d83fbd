import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../../src/domain/json/canonical-json.ts'
import { canonicalGraph, checkGraph, type PipelineGraph } from '../../src/domain/graph.ts'
import { contentHash } from '../../src/storage/content-hash.ts'
import { graphs, stored } from './graphs.ts'

const node = (id: string) => ({ id, type: 'x', config: {}, position: { x: 0, y: 0 } })
const edge = (id: string, source: string, target: string) => ({ id, source, target })

describe('graph checks', () => {
  it('find nothing in a good graph', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        expect(checkGraph(graph)).toEqual([])
      }),
    )
  })

  it('find any cycle, and name it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 20 }), (length, tail) => {
        const names = Array.from({ length: length + tail }, (_, i) => `n${i}`)
        const edges = names.slice(1).map((name, i) => edge(`e${i}`, `n${i}`, name))
        edges.push(edge('back', `n${length - 1}`, 'n0'))
        const [error, ...more] = checkGraph({ nodes: names.map(node), edges })
        expect(more).toEqual([])
        const cycle = error?.message.replace('form a cycle: ', '').split(' → ') ?? []
        expect(cycle).toHaveLength(length + 1)
        expect(cycle[0]).toBe(cycle.at(-1))
        const flows = new Set(edges.map(({ source, target }) => `${source} ${target}`))
        for (let i = 1; i < cycle.length; i++) expect(flows).toContain(`${cycle[i - 1]} ${cycle[i]}`)
      }),
    )
  })

  it('are quick and not recursive on the largest graph, also if it is one long chain or all edges meet', () => {
    const nodes = Array.from({ length: 1000 }, (_, i) => node(`n${i}`))
    const chain = nodes.slice(1).map(({ id }, i) => edge(`c${i}`, `n${i}`, id))
    const dense = Array.from({ length: 20_000 }, (_, i) => edge(`d${i}`, `n${i % 500}`, `n${500 + (i % 499)}`))
    expect(checkGraph({ nodes, edges: [...chain, ...dense] })).toEqual([])
    expect(checkGraph({ nodes, edges: [...chain, ...dense, edge('x', 'n999', 'n0')] })).toHaveLength(1)
  })

  it('treat names of object members as ordinary names', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const graph: PipelineGraph = { nodes: names.map(node), edges: [edge('valueOf', '__proto__', 'constructor')] }
    expect(checkGraph(graph)).toEqual([])
    expect(checkGraph({ nodes: [node('a')], edges: [edge('e', 'a', 'constructor')] })).toHaveLength(1)
  })
})

describe('canonical text', () => {
  it('is JSON of the same value, and the same for members in any order', () => {
    expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: 1e21, '': -0 })).toBe(
      '{"":0,"a":1e+21,"b":[1,{"c":"x","d":null}]}',
    )
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value)
        expect(JSON.parse(text)).toEqual(stored(value))
        expect(canonicalJson(JSON.parse(text))).toBe(text)
      }),
    )
  })

  it('and hash of a graph do not depend on order, and survive storage', () => {
    fc.assert(
      fc.property(graphs, ({ nodes, edges }) => {
        const hash = contentHash({ nodes, edges })
        expect(contentHash({ nodes: nodes.toReversed(), edges: edges.toReversed() })).toBe(hash)
        expect(contentHash(stored({ nodes, edges }))).toBe(hash)
      }),
    )
  })

  it('differs for nodes and edges that look alike', () => {
    const texts = [
      { nodes: [node('a')], edges: [] },
      { nodes: [{ ...node('a'), config: { a: 1 } }], edges: [] },
      { nodes: [{ ...node('a'), config: { a: '1' } }], edges: [] },
      { nodes: [{ ...node('a'), config: { a: [1] } }], edges: [] },
      { nodes: [{ ...node('a'), position: { x: 1, y: 0 } }], edges: [] },
      { nodes: [], edges: [] },
    ].map(canonicalGraph)
    expect(new Set(texts).size).toBe(texts.length)
  })
})
