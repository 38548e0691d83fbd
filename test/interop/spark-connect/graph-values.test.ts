import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PipelineGraph } from '../../../src/domain/graph.ts'
import { createDuckDbSandbox } from '../../../src/engines/duckdb/worker/sandbox.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import { planGraph } from '../../../src/streaming/graph/graph-plan.ts'
import { createGraphQuery } from '../../../src/streaming/query/graph-query.ts'
import { typeGraph } from '../../../src/streaming/graph/type-graph.ts'
import { SESSION_SETTINGS } from '../../../src/streaming/spark/query-link.ts'
import { ALLOWED, FAILING, VALUES_SCHEMA } from '../../streaming/spark/graph-expressions.ts'
import { sparkConnectAvailable } from '../harness/environment.ts'
import { sql, type SparkLake, startLake } from './lake.ts'
import { duckRows, sparkRows, writeBoundaryValues } from './boundary-values.ts'

const NOWHERE = { x: 0, y: 0 }

/** Expressions in one query; Spark compiles code for all of them together. */
const PER_QUERY = 40

describe.skipIf(!sparkConnectAvailable('values of graphs on Spark'))('expressions of graphs', () => {
  const sandbox = createDuckDbSandbox()
  let lake: SparkLake
  let duck: Awaited<ReturnType<DuckDBInstance['connect']>>

  beforeAll(async () => {
    lake = await startLake()
    duck = await (await DuckDBInstance.create(':memory:')).connect()
    const file = await writeBoundaryValues(duck, lake.folder)
    await sql(
      lake.session,
      ...SESSION_SETTINGS.map(([name, value]) => `SET ${name}=${value}`),
      'SET spark.sql.parquet.datetimeRebaseModeInRead=CORRECTED',
      `CREATE TEMPORARY VIEW lockhouse_source_0 AS SELECT * FROM parquet.\`${file}\``,
    )
  })
  afterAll(async () => {
    await lake?.close()
    await sandbox.close()
  })

  const select = (expressions: readonly string[]): PipelineGraph['nodes'][number] => ({
    id: 'q',
    type: 'select',
    position: NOWHERE,
    config: { columns: [{ name: 'k' }, ...expressions.map((expression, at) => ({ name: `v${at}`, expression }))] },
  })

  const both = (node: PipelineGraph['nodes'][number]) => bothOf(graphOf(node))

  async function bothOf(graph: PipelineGraph) {
    const { plan } = planGraph(graph)
    if (plan === undefined) throw new Error('the graph cannot run')
    const { columns, problems } = await typeGraph({ plan, schemas: [VALUES_SCHEMA], sandbox })
    expect(problems).toEqual([])
    const sink: Schema = {
      schemaId: 0,
      identifierFieldIds: [],
      fields: (columns ?? []).map(({ name, type }, at) => ({ id: at + 1, name, required: false, type: type! })),
    }
    const query = createGraphQuery({ graph, plan }, sandbox)
    const schemas = { sources: [VALUES_SCHEMA], sink, known: [] }
    const batch = await query.sparkBatch!(schemas)
    expect(batch.problems).toEqual([])
    const embedded = (await query.compile(schemas)).query
    return {
      embedded: () => duckRows(duck, embedded),
      spark: async () => sparkRows(await sql(lake.session, batch.query), sink.fields),
    }
  }

  it('give the same values in Spark as here, for boundary values of every type', { timeout: 300_000 }, async () => {
    const different: string[] = []
    for (let from = 0; from < ALLOWED.length; from += PER_QUERY) {
      const some = ALLOWED.slice(from, from + PER_QUERY)
      const run = await both(select(some))
      const [embedded, spark] = [await run.embedded(), await run.spark()]
      expect(spark.length).toBe(embedded.length)
      expect(embedded.length).toBeGreaterThan(200)
      for (const [at, expression] of some.entries()) {
        const values = (rows: readonly (readonly string[])[]) => rows.map((row) => `${row[0]}: ${row[at + 1]}`)
        const [here, there] = [values(embedded), values(spark)]
        const first = here.findIndex((value, row) => value !== there[row])
        if (first >= 0) different.push(`${expression}: here ${here[first]}, in Spark ${there[first]}`)
      }
    }
    expect(different).toEqual([])
  })

  it('are checked on the rows that reach a check only, and on each of them', { timeout: 300_000 }, async () => {
    const check = (condition: string, action: string): PipelineGraph['nodes'][number] => ({
      id: `c${action}`,
      type: 'check',
      position: NOWHERE,
      config: { expectations: [{ name: condition, condition, on_failure: action }] },
    })
    const keep: PipelineGraph['nodes'][number] = {
      id: 'keep',
      type: 'filter',
      position: NOWHERE,
      config: { condition: 'small > 0' },
    }
    const rowsOf = async (...nodes: PipelineGraph['nodes']) => {
      const run = await bothOf(graphOf(...nodes))
      return run.spark()
    }
    const kept = await rowsOf(keep)
    expect(kept.length).toBeGreaterThan(0)
    expect(await rowsOf(keep, check('small > 0', 'fail'))).toEqual(kept)
    expect(await rowsOf(check('small > 0', 'drop'))).toEqual(kept)
    await expect(rowsOf(check('small > 0', 'fail'))).rejects.toThrow(
      /lockhouse check failed: \["cfail","small > 0"\] end/,
    )
  })

  it.each(FAILING)('fail in both engines: %s', async (expression) => {
    const run = await both(select([expression]))
    await expect(run.embedded()).rejects.toThrow()
    await expect(run.spark()).rejects.toThrow()
  })

  it.each(['d > d2', "s LIKE '%a%' OR s2 IS NULL", 'nullif(b, b2)'])('keep the same rows: %s', async (condition) => {
    const run = await both({ id: 'q', position: NOWHERE, type: 'filter', config: { condition } })
    const embedded = await run.embedded()
    expect(await run.spark()).toEqual(embedded)
    expect(embedded.length).toBeGreaterThan(0)
  })

  it.each([
    'SELECT k, t.* EXCLUDE (k, raw) FROM input AS t WHERE t.small > 0',
    'SELECT k, small + 1 AS small, small + 2 AS other FROM input WHERE small = 1 OR small IS NULL',
    'SELECT K, "I" AS "we`ird ""name" FROM (SELECT k, i FROM input WHERE b) AS x WHERE x.i > 0',
    "WITH a AS (SELECT k, s FROM input), c AS (SELECT k + 1 AS k, s AS t FROM a) SELECT * FROM c WHERE t <> ''",
  ])('have the same rows as a query: %s', async (query) => {
    const run = await both({ id: 'q', position: NOWHERE, type: 'sql', config: { query } })
    const embedded = await run.embedded()
    expect(await run.spark()).toEqual(embedded)
    expect(embedded.length).toBeGreaterThan(0)
  })
})

function graphOf(...between: PipelineGraph['nodes']): PipelineGraph {
  const nodes = [
    { id: 'a', type: 'iceberg-source', position: NOWHERE, config: { table: 's.values' } },
    ...between,
    { id: 'z', type: 'iceberg-sink', position: NOWHERE, config: { table: 's.sink' } },
  ]
  return { nodes, edges: nodes.slice(1).map(({ id }, at) => edge(nodes[at]?.id ?? '', id)) }
}

function edge(source: string, target: string) {
  return { id: `${source}-${target}`, source, target }
}
