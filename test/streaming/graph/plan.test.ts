import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PipelineGraph } from '../../../src/domain/graph.ts'
import { inputNames } from '../../../src/streaming/graph/compile-graph.ts'
import { graphSteps } from '../../../src/streaming/graph/graph-steps.ts'
import { planGraph } from '../../../src/streaming/graph/graph-plan.ts'
import { runs } from '../../support/effort.ts'

const position = { x: 0, y: 0 }

/** A graph from `id: [type, config]` and edges such as `a>b`. */
function graph(nodes: Record<string, [string, Record<string, unknown>?]>, ...edges: string[]): PipelineGraph {
  return {
    nodes: Object.entries(nodes).map(([id, [type, config = {}]]) => ({ id, type, config, position })),
    edges: edges.map((edge) => {
      const [source = '', target = ''] = edge.split('>')
      return { id: edge, source, target }
    }),
  }
}

const SOURCE: [string, Record<string, unknown>] = ['iceberg-source', { table: 's.a' }]
const SINK: [string, Record<string, unknown>] = ['iceberg-sink', { table: 's.z' }]
const codes = (made: PipelineGraph) => planGraph(made).problems.map(({ nodeId, code }) => `${nodeId} ${code}`)

describe('planning a graph', () => {
  it('orders every node after its inputs, with the sink last, in any order of definition', () => {
    const made = graph(
      {
        z: SINK,
        f: ['filter', { condition: 'true' }],
        u: ['union'],
        b: ['iceberg-source', { table: 's.b' }],
        a: SOURCE,
      },
      'u>z',
      'f>u',
      'b>u',
      'a>f',
    )
    const { plan, problems } = planGraph(made)
    expect(problems).toEqual([])
    expect(plan?.nodes.map(({ id }) => id)).toEqual(['a', 'f', 'b', 'u', 'z'])
    expect(plan?.sources).toEqual(['s.a', 's.b'])
    expect(plan?.sink).toBe('s.z')
  })

  it('reads a table once when two nodes name it', () => {
    const made = graph({ a: SOURCE, b: SOURCE, u: ['union'], z: SINK }, 'a>u', 'b>u', 'u>z')
    expect(planGraph(made).plan?.sources).toEqual(['s.a'])
  })

  it.each<[string, PipelineGraph, string[]]>([
    ['nothing', graph({}), ['null NO_SINK']],
    ['no sink', graph({ a: SOURCE }), ['null NO_SINK']],
    ['two sinks', graph({ a: SOURCE, y: SINK, z: SINK }, 'a>y', 'a>z'), ['y SEVERAL_SINKS', 'z SEVERAL_SINKS']],
    ['a sink without input', graph({ z: SINK }), ['z NO_SOURCE']],
    ['a filter without an input', graph({ f: ['filter', { condition: 'true' }], z: SINK }, 'f>z'), ['f NO_SOURCE']],
    ['a union with one input', graph({ a: SOURCE, u: ['union'], z: SINK }, 'a>u', 'u>z'), ['u WRONG_INPUTS']],
    [
      'a filter with two inputs',
      graph({ a: SOURCE, b: SOURCE, f: ['filter', { condition: 'true' }], z: SINK }, 'a>f', 'b>f', 'f>z'),
      ['f WRONG_INPUTS'],
    ],
    ['a source with an input', graph({ a: SOURCE, b: SOURCE, z: SINK }, 'a>b', 'b>z'), ['b WRONG_INPUTS']],
    [
      'a sink with an output',
      graph({ a: SOURCE, z: SINK, f: ['filter', { condition: 'x' }] }, 'a>z', 'z>f'),
      ['z WRONG_INPUTS', 'f UNUSED_NODE'],
    ],
    ['a repeated edge', graph({ a: SOURCE, u: ['union'], z: SINK }, 'a>u', 'a>u', 'u>z'), ['u WRONG_INPUTS']],
    ['an unknown type', graph({ a: ['kafka'], z: SINK }, 'a>z'), ['a UNKNOWN_NODE_TYPE']],
    ['a type that is a member of all objects', graph({ a: ['constructor'], z: SINK }, 'a>z'), ['a UNKNOWN_NODE_TYPE']],
    ['no config', graph({ a: ['iceberg-source'], z: SINK }, 'a>z'), ['a INVALID_CONFIG']],
    [
      'an unknown setting',
      graph({ a: ['iceberg-source', { table: 's.a', tabel: 's.b' }], z: SINK }, 'a>z'),
      ['a INVALID_CONFIG'],
    ],
    [
      'a blank condition',
      graph({ a: SOURCE, f: ['filter', { condition: ' \n' }], z: SINK }, 'a>f', 'f>z'),
      ['f INVALID_CONFIG'],
    ],
    ['no columns', graph({ a: SOURCE, f: ['select', { columns: [] }], z: SINK }, 'a>f', 'f>z'), ['f INVALID_CONFIG']],
    [
      'a reserved input name',
      graph({ a: SOURCE, f: ['sql', { query: 'x', inputs: { LOCKHOUSE_node_0: 'a' } }], z: SINK }, 'a>f', 'f>z'),
      ['f INVALID_CONFIG'],
    ],
    [
      'a table name with parent segments',
      graph({ a: ['iceberg-source', { table: '../etc' }], z: SINK }, 'a>z'),
      ['a INVALID_CONFIG'],
    ],
  ])('reports where the problem is: %s', (_, made, expected) => {
    expect(codes(made)).toEqual(expected)
    expect(planGraph(made).plan).toBeUndefined()
  })

  it('warns of nodes without a path to the sink, whose types may be unknown', () => {
    const made = graph({ a: SOURCE, z: SINK, idea: ['todo'], x: ['filter', { condition: '' }] }, 'a>z', 'a>x')
    expect(codes(made)).toEqual(['idea UNUSED_NODE', 'x UNUSED_NODE'])
    expect(planGraph(made).plan).toBeDefined()
  })

  it('handles 1,000 nodes in a row and as diamonds', () => {
    const nodes: Record<string, [string, Record<string, unknown>?]> = { n0: SOURCE, z: SINK }
    const edges: string[] = []
    for (let at = 1; at < 998; at += 1) {
      nodes[`n${at}`] = ['filter', { condition: 'true' }]
      edges.push(`n${at - 1}>n${at}`)
    }
    expect(planGraph(graph(nodes, ...edges, 'n997>z')).plan?.nodes).toHaveLength(999)

    const diamonds: Record<string, [string, Record<string, unknown>?]> = { u0: SOURCE, z: SINK }
    const ways: string[] = []
    for (let at = 1; at < 300; at += 1) {
      diamonds[`a${at}`] = ['filter', { condition: 'true' }]
      diamonds[`b${at}`] = ['filter', { condition: 'true' }]
      diamonds[`u${at}`] = ['union']
      ways.push(`u${at - 1}>a${at}`, `u${at - 1}>b${at}`, `a${at}>u${at}`, `b${at}>u${at}`)
    }
    const before = performance.now()
    expect(planGraph(graph(diamonds, ...ways, 'u299>z')).plan?.nodes).toHaveLength(899)
    expect(performance.now() - before).toBeLessThan(20_000)
  })

  it('never throws, for any configs', () => {
    const type = fc.constantFrom('iceberg-source', 'filter', 'select', 'sql', 'union', 'iceberg-sink', 'other')
    const config = fc.dictionary(
      fc.constantFrom('table', 'condition', 'columns', 'query', 'inputs', 'x'),
      fc.jsonValue(),
    )
    const node = fc.tuple(type, config)
    fc.assert(
      fc.property(
        fc.array(node, { maxLength: 8 }),
        fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 12 }),
        (list, pairs) => {
          const nodes = Object.fromEntries(list.map((made, at) => [`n${at}`, made]))
          const edges = pairs.filter(([a, b]) => a < b && b < list.length).map(([a, b]) => `n${a}>n${b}`)
          const { plan, problems } = planGraph(graph(nodes, ...edges))
          expect(plan !== undefined).toBe(problems.every(({ severity }) => severity === 'warning'))
          if (plan) expect(graphSteps({ plan, columns: new Map() }).query(['*'])).toContain('SELECT')
        },
      ),
      { numRuns: runs(500) },
    )
  })
})

describe('input names of a sql node', () => {
  const names = (ids: string[], inputs?: Record<string, string>) =>
    inputNames({ id: 'q', type: 'sql', config: { query: 'x', ...(inputs ? { inputs } : {}) }, inputs: ids }).map(
      ({ name }) => name,
    )

  it.each<[string[], Record<string, string> | undefined, string[]]>([
    [['orders'], undefined, ['input', 'orders']],
    [['orders', 'items'], undefined, ['orders', 'items']],
    [['node-1'], undefined, ['input']],
    [['node-1', 'node-2'], undefined, []],
    [['a', 'A'], undefined, ['a']],
    [['input'], undefined, ['input']],
    [['lockhouse_node_0'], undefined, ['input']],
    [['node-1', 'node-2'], { x: 'node-1', y: 'node-2' }, ['x', 'y']],
  ])('%j %j → %j', (ids, inputs, expected) => {
    expect(names(ids, inputs)).toEqual(expected)
  })
})
