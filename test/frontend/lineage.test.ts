import { describe, expect, test } from 'vitest'
import type { Lineage, LineageEdge, LineageNode } from '../../frontend/src/api/types.ts'
import { aroundTable, flowsOf } from '../../frontend/src/features/lineage/flows.ts'
import { mergeLineage, visibleGraph } from '../../frontend/src/features/lineage/graph-model.ts'
import { usesOf } from '../../frontend/src/features/lineage/impact.tsx'
import { parseLineageSearch } from '../../frontend/src/features/lineage/search.ts'

type State = NonNullable<LineageEdge['state']>

function edgeOf(kind: LineageEdge['kind'], from: string, to: string, more: Partial<LineageEdge> = {}): LineageEdge {
  const id = `${kind} ${from} ${to}`
  return { id, kind, from, to, state: 'running', columns: null, column_sources: null, lag: null, ...more }
}

function tableOf(name: string, hidden = 0): LineageNode {
  return {
    id: `table:${name}`,
    kind: 'table',
    table: name,
    exists: true,
    band: 'good',
    score: 90,
    hidden_flows: hidden,
  }
}

/** Pipelines such as `p: a > b`, with what the answer does not have of each table. */
function answerOf(lines: readonly string[], hidden: Readonly<Record<string, number>> = {}, state: State = 'running') {
  const nodes = new Map<string, LineageNode>()
  const edges: LineageEdge[] = []
  for (const line of lines) {
    const [, name = '', from = '', to = ''] = /^(\w+): (\w+) > (\w+)$/.exec(line) ?? []
    for (const table of [from, to]) nodes.set(`table:${table}`, tableOf(table, hidden[table] ?? 0))
    nodes.set(`pipeline:${name}`, {
      id: `pipeline:${name}`,
      kind: 'pipeline',
      pipeline_id: name,
      state,
      error: null,
      environment: null,
      definition_id: null,
      version_id: null,
      source_tables: [from],
      sink_tables: [to],
    })
    edges.push(edgeOf('reads', `table:${from}`, `pipeline:${name}`, { state }))
    edges.push(edgeOf('writes', `pipeline:${name}`, `table:${to}`, { state }))
  }
  return { nodes: [...nodes.values()], edges }
}

const CHAIN = answerOf(['p: a > b', 'q: b > c', 'r: c > d', 's: b > e'])
const drawn = ({ ids }: { readonly ids: ReadonlySet<string> }) =>
  [...ids]
    .map((id) => id.replace(/^\w+:/, ''))
    .toSorted()
    .join('')

describe('the drawn part of a graph', () => {
  const chain = mergeLineage([CHAIN])

  test('is everything at first', () => {
    expect(drawn(visibleGraph(chain, undefined, new Set()))).toBe('abcdepqrs')
    expect(drawn(visibleGraph(chain, 'table:c', new Set()))).toBe('abcdepqrs')
  })

  test('ends at a collapsed table, which counts what it hides', () => {
    const lake = visibleGraph(chain, undefined, new Set(['table:b']))
    expect(drawn(lake)).toBe('abp')
    expect(lake.hidden).toEqual(new Map([['table:b', 2]]))
    const around = visibleGraph(chain, 'table:c', new Set(['table:b']))
    expect(drawn(around)).toBe('bcdqr')
    expect(around.hidden).toEqual(new Map([['table:b', 2]]))
    expect([...visibleGraph(chain, 'table:c', new Set()).collapsible]).toEqual(['table:b'])
  })

  test('has every table of a cycle, and ends', () => {
    const cycle = mergeLineage([answerOf(['p: a > b', 'q: b > a', 'r: c > c'])])
    expect(drawn(visibleGraph(cycle, undefined, new Set()))).toBe('abcpqr')
    expect(drawn(visibleGraph(cycle, 'table:a', new Set()))).toBe('abpq')
  })

  test('counts pipelines that no answer has, and adds those of another answer', () => {
    const part = answerOf(['p: a > b'], { b: 2 })
    const before = visibleGraph(mergeLineage([part]), 'table:a', new Set())
    expect(before.hidden).toEqual(new Map([['table:b', 2]]))
    const more = answerOf(['p: a > b', 'q: b > c', 's: b > e'])
    const after = visibleGraph(mergeLineage([part, more]), 'table:a', new Set())
    expect([drawn(after), after.hidden.size]).toEqual(['abcepqs', 0])
  })
})

describe('flows', () => {
  test('of a table are its writers and its readers, those with trouble first', () => {
    const failed = answerOf(['z: b > f'], {}, 'failed')
    const both = { nodes: [...CHAIN.nodes, ...failed.nodes], edges: [...CHAIN.edges, ...failed.edges] }
    const { writers, readers } = aroundTable(both, 'b')
    expect(writers.map(({ node }) => node.id)).toEqual(['pipeline:p'])
    expect(readers.map(({ node }) => node.id)).toEqual(['pipeline:z', 'pipeline:q', 'pipeline:s'])
  })

  test('show the largest lag of their sources, and none while they retry', () => {
    const lag = { snapshots: 1, files: 1, rows: 5, bytes: 1, seconds: 60, measured_at: '2026-01-01T00:00:00.000Z' }
    const withLag = (state: State): Pick<Lineage, 'nodes' | 'edges'> => ({
      nodes: answerOf(['p: a > b'], {}, state).nodes,
      edges: [
        edgeOf('reads', 'table:a', 'pipeline:p', { state, lag: { ...lag, seconds: 0, rows: 0 } }),
        edgeOf('reads', 'table:x', 'pipeline:p', { state, lag }),
      ],
    })
    expect(flowsOf(withLag('running'))[0]?.lag?.text).toMatch(/^1 min.* behind$/)
    expect(flowsOf(withLag('degraded'))[0]?.lag).toBeUndefined()
  })
})

describe('the impact of a change', () => {
  const uses = (column: string | undefined, columns: string[] | null) =>
    flowsOf(answerOf(['p: a > b'])).flatMap((flow) =>
      usesOf(flow, { table: 'a', column }, { edges: [edgeOf('reads', 'table:a', 'pipeline:p', { columns })] }),
    )

  test('says whether a pipeline may read the column', () => {
    expect(uses(undefined, null)).toEqual(['reads'])
    expect(uses('ID', ['id'])).toEqual(['may read ID'])
    expect(uses('address.city', ['address'])).toEqual(['may read address.city'])
    expect(uses('address2', ['address'])).toEqual(['does not use address2'])
    expect(uses('id', null)).toEqual(['may use id: its columns are unknown'])
  })
})

test('an address with values that the page does not offer shows the defaults', () => {
  expect(parseLineageSearch({ table: 's.a', depth: '99', direction: 'sideways', view: 'list' })).toEqual({
    table: 's.a',
    view: 'list',
  })
})
