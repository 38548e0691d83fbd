import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffGraphs, type GraphDiff } from '../../src/domain/graph-diff.ts'
import { canonicalGraph, type PipelineGraph } from '../../src/domain/graph.ts'
import { type JsonChange, jsonChanges } from '../../src/domain/json/json-changes.ts'
import { canonicalJson } from '../../src/domain/json/canonical-json.ts'
import { graphs, stored } from './graphs.ts'

/** Applies changes by their pointers (RFC 6901), as a reader of the interface would. */
function apply(value: unknown, changes: readonly JsonChange[]): unknown {
  let root = stored({ value })
  // What is taken from an array goes from its end.
  for (const { op, path, to } of [...changes].sort(
    (a, b) => Number(b.op === 'remove') - Number(a.op === 'remove') || (a.op === 'remove' ? -1 : 1),
  )) {
    const names = [
      'value',
      ...path
        .split('/')
        .slice(1)
        .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')),
    ]
    const last = names.pop()!
    const parent = names.reduce((at, name) => (at as Record<string, never>)[name], root as unknown) as Record<
      string,
      unknown
    >
    if (op !== 'remove') parent[last] = to
    else delete parent[last]
    root = stored(compact(root)) as typeof root
  }
  return root.value
}

/** Arrays without the places that were removed. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((_, i) => i in value).map(compact)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, compact(member)]))
}

function isEmpty({ nodes, edges, moves }: GraphDiff): boolean {
  return (
    [nodes, edges].every(({ added, removed, changed }) => added.length + removed.length + changed.length === 0) &&
    moves.length === 0
  )
}

describe('changes of a JSON value', () => {
  it('are described by escaped JSON pointers', () => {
    expect(jsonChanges({ 'a/b': { '~': 1 }, c: [1, 2] }, { 'a/b': { '~': 2 }, c: [1], d: null })).toEqual([
      { op: 'replace', path: '/a~1b/~0', from: 1, to: 2 },
      { op: 'remove', path: '/c/1', from: 2 },
      { op: 'add', path: '/d', to: null },
    ])
  })

  it('are none exactly when the values are the same', () => {
    const json = fc.jsonValue({ maxDepth: 3 })
    fc.assert(
      fc.property(json, json, (a, b) => {
        const isSame = canonicalJson(a) === canonicalJson(b)
        expect(jsonChanges(stored(a), stored(b)).length === 0).toBe(isSame)
      }),
    )
    fc.assert(
      fc.property(json, (a) => {
        expect(jsonChanges(a, stored(a))).toEqual([])
      }),
    )
  })

  it('applied to the old value produce the new one', () => {
    const simple = fc.oneof(fc.integer(), fc.string({ maxLength: 3 }), fc.constant(null), fc.boolean())
    const value = fc.dictionary(
      fc.constantFrom('a', 'b', 'x/y', '~'),
      fc.oneof(simple, fc.dictionary(fc.constantFrom('p', 'q'), simple)),
    )
    fc.assert(
      fc.property(value, value, (from, to) => {
        expect(canonicalJson(apply(from, jsonChanges(from, to)))).toBe(canonicalJson(to))
      }),
    )
  })
})

describe('the difference of graphs', () => {
  it('is nothing exactly when the content is the same', () => {
    fc.assert(
      fc.property(graphs, graphs, (a, b) => {
        expect(isEmpty(diffGraphs(a, b))).toBe(canonicalGraph(a) === canonicalGraph(b))
      }),
    )
    fc.assert(
      fc.property(graphs, ({ nodes, edges }) => {
        const reversed = { nodes: nodes.toReversed(), edges: edges.toReversed() }
        expect(isEmpty(diffGraphs({ nodes, edges }, reversed))).toBe(true)
      }),
    )
  })

  it('lists every node once: added, removed, or in both; and is symmetric', () => {
    fc.assert(
      fc.property(graphs, graphs, (a, b) => {
        const diff = diffGraphs(a, b)
        const back = diffGraphs(b, a)
        const ids = (items: readonly { id: string }[]) => new Set(items.map(({ id }) => id))
        expect(ids(diff.nodes.added)).toEqual(ids(back.nodes.removed))
        expect(ids(diff.nodes.changed)).toEqual(ids(back.nodes.changed))
        expect(ids(diff.edges.removed)).toEqual(ids(back.edges.added))
        expect(ids(diff.nodes.added)).toEqual(new Set([...ids(b.nodes)].filter((id) => !ids(a.nodes).has(id))))
        expect(ids(diff.moves)).toEqual(ids(back.moves))
      }),
    )
  })

  it('distinguishes a move from a change', () => {
    const graph = (x: number, limit: number): PipelineGraph => ({
      nodes: [{ id: 'a', type: 't', config: { limit }, position: { x, y: 0 } }],
      edges: [],
    })
    expect(diffGraphs(graph(0, 1), graph(5, 1))).toMatchObject({
      nodes: { changed: [] },
      moves: [{ id: 'a', from: { x: 0, y: 0 }, to: { x: 5, y: 0 } }],
    })
    expect(diffGraphs(graph(0, 1), graph(0, 2))).toMatchObject({
      nodes: { changed: [{ id: 'a', changes: [{ path: '/config/limit' }] }] },
      moves: [],
    })
  })
})
