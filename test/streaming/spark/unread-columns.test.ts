import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { createDuckDbSandbox } from '../../../src/engines/duckdb/worker/sandbox.ts'
import { dropColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import { planGraph } from '../../../src/streaming/graph/graph-plan.ts'
import { createGraphQuery } from '../../../src/streaming/query/graph-query.ts'
import { droppedColumnProblem } from '../../../src/streaming/spark/unread-columns.ts'
import { openLab, type StreamLab } from '../support.ts'

const sandbox = createDuckDbSandbox()
let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(async () => {
  await lab.close()
  await sandbox.close()
})

/** The query from a source through one node into a sink. */
function queryThrough(source: string, node: { readonly type: string; readonly config: object }) {
  const at = { x: 0, y: 0 }
  const graph = {
    nodes: [
      { id: 'in', type: 'iceberg-source', config: { table: source }, position: at },
      { id: 'node', type: node.type, config: { ...node.config }, position: at },
      { id: 'out', type: 'iceberg-sink', config: { table: `${source}_sink` }, position: at },
    ],
    edges: [
      { id: 'a', source: 'in', target: 'node' },
      { id: 'b', source: 'node', target: 'out' },
    ],
  }
  const { plan, problems } = planGraph(graph)
  if (plan === undefined) throw new Error(JSON.stringify(problems))
  return createGraphQuery({ graph, plan, bound: undefined }, sandbox)
}

/** A source that dropped a column after its first snapshot, of which a pipeline has read nothing; the sink may have the column. */
async function problemOf(table: string, node: { readonly type: string; readonly config: object }, hasColumn: boolean) {
  await lab.createTable(table, [
    ['id', 'long'],
    ['name', 'string'],
  ])
  await lab.createTable(
    `${table}_sink`,
    hasColumn
      ? [
          ['id', 'long'],
          ['name', 'string'],
        ]
      : [['id', 'long']],
  )
  await lab.append(table, "SELECT 1::BIGINT AS c1, 'n1' AS c2")
  await commitTable(lab.catalog(), parseIdentifier(table), async ({ metadata }) => ({
    ...dropColumn(metadata, { name: 'name' }),
    writtenFiles: [],
  }))
  const source = await lab.load(table)
  const snapshotId = source.metadata.currentSnapshotId ?? 0n
  return droppedColumnProblem({
    query: queryThrough(table, node),
    sources: [source],
    sink: await lab.load(`${table}_sink`),
    positions: [{ offset: { snapshotId, position: 0, scanAllFiles: false }, isComplete: false }],
    known: [],
  })
}

describe('a graph on Spark whose source dropped a column', () => {
  const all = { type: 'filter', config: { condition: 'id > 0' } }

  it('can run when the graph only passes the column on and the sink lacks the column', async () => {
    expect(await problemOf('s.passed', all, false)).toBeUndefined()
  })

  it('cannot run when the sink has the column', async () => {
    expect(await problemOf('s.kept', all, true)).toContain('s.kept has dropped the column name')
  })

  it('cannot run when a node reads the column', async () => {
    const named = { type: 'filter', config: { condition: "name = 'n1'" } }
    expect(await problemOf('s.named', named, false)).toContain('s.named has dropped the column name')
  })
})
