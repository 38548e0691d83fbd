import { afterAll, describe, expect, it } from 'vitest'
import type { SortOrder } from '../../../../src/iceberg/partitioning/sort-order.ts'
import type { FileScanTask } from '../../../../src/iceberg/scan/scan.ts'
import { childFields } from '../../../../src/iceberg/schema/schema.ts'
import type { NestedField } from '../../../../src/iceberg/schema/types.ts'
import { field, Lake, readAll, schemaOf, task } from '../harness/lake.ts'
import { ID } from '../harness/parquet-nodes.ts'
import { PARQUET_SHAPES } from '../harness/parquet-shapes.ts'
import { parquetBytes } from '../harness/parquet-writer.ts'
import type { ParquetNode, ParquetOptions, ParquetValue } from '../harness/parquet-writer.ts'

const lake = new Lake()
afterAll(() => lake.close())

function input(
  columns: readonly ParquetNode[],
  rows: readonly Readonly<Record<string, ParquetValue>>[],
  options?: ParquetOptions,
): FileScanTask {
  return task(lake.dataFile(lake.write(parquetBytes(columns, rows, options))))
}

interface Rewriting {
  readonly fields: readonly NestedField[]
  readonly inputs: readonly FileScanTask[]
  readonly properties?: Record<string, string>
  readonly sortOrder?: SortOrder
}

async function rewrite({ fields, inputs, properties = {}, ...rest }: Rewriting): Promise<Record<string, unknown>[]> {
  const engine = await lake.engine()
  const table = { schemas: [schemaOf(fields)], properties }
  const { files, values } = await engine.rewrite(lake.task(table, inputs, { verifyValues: true, ...rest }))
  expect(values?.isEqual ?? true).toBe(true)
  return readAll(files)
}

/** Maps as objects, bytes as text, and null for what is not there. */
function plain(value: unknown): unknown {
  if (value === undefined) return null
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

function withoutIds(node: ParquetNode): ParquetNode {
  const { name, repetition, physical, converted, children } = node
  return {
    name,
    repetition,
    ...(physical === undefined ? {} : { physical }),
    ...(converted === undefined ? {} : { converted }),
    ...(children === undefined ? {} : { children: children.map(withoutIds) }),
  }
}

/** The name mapping of columns by their own names. */
function mappingOf(fields: readonly NestedField[]): unknown {
  return fields.map(({ id, name, type }) => ({ 'field-id': id, names: [name], fields: mappingOf(childFields(type)) }))
}

/** Rows in the order of their ids, as a rewrite promises none. */
function inOrder(rows: readonly Readonly<Record<string, unknown>>[]): unknown[] {
  return rows.toSorted((a, b) => Number(a['id']) - Number(b['id'])).map(plain)
}

describe.each(PARQUET_SHAPES)('$title', ({ column, type, values }) => {
  const rows = values.map(([value], at) => ({ id: BigInt(at), v: value }))
  const expected = values.map(([, value], at) => ({ id: BigInt(at), v: value }))

  it.each([true, false])('keeps its values through a rewrite when statistics are %s', async (hasStatistics) => {
    const inputs = [input([ID, column], rows, { hasStatistics }), input([ID, column], rows, { hasStatistics })]
    const found = await rewrite({ fields: [field(1, 'id', 'long'), field(2, 'v', type)], inputs })
    expect(inOrder(found)).toEqual(inOrder([...expected, ...expected]))
  })

  it('keeps its values through a rewrite of renamed columns with a member that the table added', async () => {
    const inputs = [input([ID, column], rows), input([ID], [{ id: 50n }])]
    const fields = [field(2, 'renamed', type), field(1, 'id', 'long'), field(7, 'new', 'int')]
    const found = await rewrite({ fields, inputs })
    const all = [...expected, { id: 50n, v: null }]
    expect(inOrder(found)).toEqual(inOrder(all.map(({ id, v }) => ({ renamed: v, id, new: null }))))
  })

  it('keeps its values through a sorted rewrite with deletes, without and with a name mapping', async () => {
    const fields = [field(1, 'id', 'long'), field(2, 'v', type)]
    const mapping = JSON.stringify(mappingOf(fields))
    const plainFile = input([ID, column].map(withoutIds), rows)
    const mapped = await rewrite({
      fields,
      inputs: [plainFile],
      properties: { 'schema.name-mapping.default': mapping },
    })
    expect(inOrder(mapped)).toEqual(inOrder(expected))
    const odd = input([ID, column], rows)
    const deletes = [
      await lake.positionDeletes([[odd.dataFile.filePath, 0]]),
      await lake.equalityDeletes('SELECT 1::BIGINT AS id', '{id: 1}', [1]),
    ]
    const sortOrder: SortOrder = {
      orderId: 1,
      fields: [{ sourceId: 1, transform: { kind: 'identity' }, direction: 'desc', nullOrder: 'nulls-last' }],
    }
    const found = await rewrite({ fields, inputs: [{ ...odd, deletes }, input([ID, column], rows)], sortOrder })
    expect(inOrder(found)).toEqual(inOrder([...expected.slice(2), ...expected]))
  })

  it('appears in previews', async () => {
    const engine = await lake.engine()
    const { metadata, io } = lake.task({ schemas: [schemaOf([field(1, 'id', 'long'), field(2, 'v', type)])] }, [])
    const schema = schemaOf([field(2, 'v', type)])
    const found: unknown[] = []
    for await (const row of engine.readRows({ io, metadata, schema, inputs: [input([ID, column], rows)] }))
      found.push(row['v'] === null)
    expect(found).toEqual(values.map(([, value]) => value === null))
  })
})
