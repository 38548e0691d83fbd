import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NodeTypeList } from '../../../frontend/src/api/types.ts'
import {
  EMPTY_GRAPH,
  type Graph,
  isSameGraph,
  lacksPositions,
  moveNodes,
} from '../../../frontend/src/components/graph/graph.ts'
import { layOut } from '../../../frontend/src/components/graph/layout.ts'
import { beginHistory, edit, redo, undo } from '../../../frontend/src/features/designer/editor/edit-history.ts'
import {
  addNode,
  configure,
  connect,
  freePlace,
  removeElements,
  renameNode,
  whyNotConnect,
} from '../../../frontend/src/features/designer/graph-edits.ts'
import { checkGraph } from '../../../src/domain/graph.ts'
import { NODE_TYPE_INFO } from '../../../src/schemas/node-types.ts'

type NodeTypeInfo = NodeTypeList['node_types'][number]
const TYPES = new Map(
  Object.entries(NODE_TYPE_INFO).map(([type, info]) => [
    type,
    { type, ...info, has_output: info.hasOutput, config_schema: {} } as unknown as NodeTypeInfo,
  ]),
)

function graphOf(types: readonly string[], edges: readonly (readonly [number, number])[] = []): Graph {
  let graph = EMPTY_GRAPH
  const ids: string[] = []
  for (const [at, type] of types.entries()) {
    const added = addNode(graph, type, { x: at * 10, y: 0 })
    graph = added.graph
    ids.push(added.id)
  }
  for (const [from, to] of edges) graph = connect(graph, ids[from] ?? '', ids[to] ?? '')
  return graph
}

describe('edits of a graph', () => {
  it('assign unused ids that are valid in SQL', () => {
    const graph = graphOf(['iceberg-source', 'iceberg-source', 'sql'])
    expect(graph.nodes.map(({ id }) => id)).toEqual(['source', 'source_2', 'sql'])
  })

  it('refuse edges that the server or a node type refuses', () => {
    const graph = graphOf(
      ['iceberg-source', 'filter', 'filter', 'iceberg-sink'],
      [
        [0, 1],
        [1, 2],
        [2, 3],
      ],
    )
    const why = (source: string, target: string) => whyNotConnect(graph, TYPES, { source, target })
    expect(why('filter', 'filter')).toBe('itself')
    expect(why('source', 'filter')).toBe('known')
    expect(why('filter_2', 'filter')).toBe('circle')
    expect(why('sink', 'filter')).toBe('no-output')
    expect(why('filter', 'source')).toBe('no-input')
    expect(why('source', 'sink')).toBe('full')
    const open = graphOf(['iceberg-source', 'union', 'no-such-type'])
    expect(whyNotConnect(open, TYPES, { source: 'source', target: 'union' })).toBeUndefined()
    expect(whyNotConnect(open, TYPES, { source: 'no_such_type', target: 'union' })).toBeUndefined()
  })

  it('never produce a graph that the server refuses', () => {
    const types = fc.constantFrom(...TYPES.keys())
    const step = fc.oneof(
      fc.record({ do: fc.constant('add' as const), type: types }),
      fc.record({ do: fc.constant('connect' as const), a: fc.nat(), b: fc.nat() }),
      fc.record({ do: fc.constant('remove' as const), a: fc.nat() }),
      fc.record({ do: fc.constant('rename' as const), a: fc.nat() }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let graph = EMPTY_GRAPH
        let names = 0
        const idAt = (n: number): string => graph.nodes[n % Math.max(1, graph.nodes.length)]?.id ?? ''
        for (const one of steps) {
          if (one.do === 'add') graph = addNode(graph, one.type, { x: 0, y: 0 }).graph
          else if (graph.nodes.length === 0) continue
          else if (one.do === 'remove') graph = removeElements(graph, new Set([idAt(one.a)]), new Set())
          else if (one.do === 'rename') graph = renameNode(graph, idAt(one.a), `renamed_${names++}`)
          else {
            const ends = { source: idAt(one.a), target: idAt(one.b) }
            if (whyNotConnect(graph, TYPES, ends) === undefined) graph = connect(graph, ends.source, ends.target)
          }
          expect(checkGraph(graph)).toEqual([])
        }
        expect(
          checkGraph(moveNodes(graph, layOut({ nodeIds: graph.nodes.map(({ id }) => id), edges: graph.edges }))),
        ).toEqual([])
      }),
    )
  })

  it('remove the edges of a removed node, and keep the others', () => {
    const graph = graphOf(
      ['iceberg-source', 'filter', 'iceberg-sink'],
      [
        [0, 1],
        [1, 2],
      ],
    )
    const left = removeElements(graph, new Set(['sink']), new Set())
    expect(left.edges.map(({ id }) => id)).toEqual(['source-filter'])
    expect(removeElements(graph, new Set(), new Set(['source-filter'])).edges).toHaveLength(1)
  })

  it('rename a node in its edges and in the SQL inputs that name it', () => {
    let graph = graphOf(['iceberg-source', 'sql'], [[0, 1]])
    graph = configure(graph, 'sql', { query: 'select 1', inputs: { a: 'source', b: 'other' } })
    const renamed = renameNode(graph, 'source', 'orders')
    expect(renamed.edges[0]).toMatchObject({ source: 'orders', target: 'sql' })
    expect(renamed.nodes[1]?.config).toEqual({ query: 'select 1', inputs: { a: 'orders', b: 'other' } })
  })

  it('move to whole pixels', () => {
    const moved = moveNodes(graphOf(['filter']), new Map([['filter', { x: 1.6, y: -0.2 }]]))
    expect(moved.nodes[0]?.position).toEqual({ x: 2, y: -0 })
  })
})

describe('undo and redo', () => {
  it('step through every edit in both directions', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { maxLength: 50 }), (values) => {
        const seen = ['start', ...values.map((value, at) => `${at} ${value}`)]
        let history = beginHistory('start')
        for (const one of seen.slice(1)) history = edit(history, one)
        for (const one of seen.toReversed()) {
          expect(history.present).toBe(one)
          history = undo(history)
        }
        for (const one of seen.slice(1)) {
          history = redo(history)
          expect(history.present).toBe(one)
        }
      }),
    )
  })

  it('combine consecutive edits of one field into one step', () => {
    let history = beginHistory('')
    for (const text of ['a', 'ab', 'abc']) history = edit(history, text, 'field')
    history = edit(history, 'moved')
    history = edit(history, 'moved, b', 'field')
    expect(undo(history).present).toBe('moved')
    expect(undo(undo(history)).present).toBe('abc')
    expect(undo(undo(undo(history))).present).toBe('')
    expect(redo(undo(history)).present).toBe('moved, b')
  })
})

describe('positions of nodes', () => {
  it('are missing when two nodes have the same one', () => {
    expect(lacksPositions(EMPTY_GRAPH)).toBe(false)
    const graph = graphOf(['filter', 'filter'])
    expect(lacksPositions(graph)).toBe(false)
    const flat = moveNodes(graph, new Map(graph.nodes.map(({ id }) => [id, { x: 0, y: 0 }])))
    expect(lacksPositions(flat)).toBe(true)
    expect(isSameGraph(flat, graph)).toBe(false)
  })
})

describe('the position of a new node', () => {
  const graph = {
    nodes: [
      { id: 'a', type: 'filter', config: {}, position: { x: 0, y: 0 } },
      { id: 'b', type: 'filter', config: {}, position: { x: 900, y: 0 } },
    ],
    edges: [],
  }

  it('is right of its input node, else in the middle of the view, below existing nodes', () => {
    expect(freePlace(graph, 'a', { x: 500, y: 500 })).toEqual({ x: 232, y: 0 })
    expect(freePlace(graph, undefined, { x: 500, y: 500 })).toEqual({ x: 500, y: 500 })
    expect(freePlace(graph, undefined, { x: 10, y: 5 })).toEqual({ x: 10, y: 105 })
    expect(freePlace(graph, undefined)).toEqual({ x: 1132, y: 0 })
    expect(freePlace({ nodes: [], edges: [] }, 'gone')).toEqual({ x: 0, y: 0 })
  })
})
