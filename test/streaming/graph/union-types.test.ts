import { afterAll, expect, it } from 'vitest'
import { createDuckDbSandbox } from '../../../src/engines/duckdb/worker/sandbox.ts'
import type { Schema } from '../../../src/iceberg/schema/schema.ts'
import type { Type } from '../../../src/iceberg/schema/types.ts'
import { planGraph } from '../../../src/streaming/graph/graph-plan.ts'
import { typeGraph } from '../../../src/streaming/graph/type-graph.ts'

const sandbox = createDuckDbSandbox()
afterAll(() => sandbox.close())

const schema = (name: string, type: Type): Schema => ({
  schemaId: 0,
  identifierFieldIds: [],
  fields: [{ id: 1, name, required: false, type }],
})

async function unionOf(one: Type, other: Type) {
  const node = (id: string, type: string, config: object) => ({ id, type, config, position: { x: 0, y: 0 } }) as never
  const { plan } = planGraph({
    nodes: [
      node('a', 'iceberg-source', { table: 's.a' }),
      node('b', 'iceberg-source', { table: 's.b' }),
      node('u', 'union', {}),
      node('z', 'iceberg-sink', { table: 's.z' }),
    ],
    edges: ['a>u', 'b>u', 'u>z'].map((id) => ({ id, source: id[0]!, target: id[2]! })),
  })
  return typeGraph({ plan: plan!, schemas: [schema('x', one), schema('X', other)], sandbox })
}

it.each<[one: Type, other: Type, named: string]>([
  [{ kind: 'long' }, { kind: 'double' }, 'x is BIGINT in one input and would be rounded to DOUBLE'],
  [{ kind: 'float' }, { kind: 'int' }, 'x is INTEGER in one input and would be rounded to FLOAT'],
  [{ kind: 'double' }, { kind: 'decimal', precision: 38, scale: 2 }, 'x is DECIMAL(38,2) in one input'],
])('a union that would round is refused: %o and %o', async (one, other, named) => {
  const { problems } = await unionOf(one, other)
  expect(problems).toEqual([expect.objectContaining({ nodeId: 'u', code: 'TYPE_MISMATCH' })])
  expect(problems[0]?.message).toContain(named)
})

it.each<[one: Type, other: Type]>([
  [{ kind: 'int' }, { kind: 'double' }],
  [{ kind: 'float' }, { kind: 'double' }],
  [{ kind: 'int' }, { kind: 'long' }],
  [{ kind: 'double' }, { kind: 'double' }],
])('a union that keeps every value is allowed: %o and %o', async (one, other) => {
  expect((await unionOf(one, other)).problems).toEqual([])
})
