import { expect, it } from 'vitest'
import { parseSchema, type Schema } from '../../../src/iceberg/schema/schema.ts'
import { changedColumns } from '../../../src/services/iceberg-rest/changed-columns.ts'
import { growthOf, LINEAR } from '../../support/growth.ts'

const column = (id: number, name: string, type: unknown = 'long') => ({ id, name, type, required: false })
const schema = (...fields: object[]): Schema => parseSchema({ type: 'struct', 'schema-id': 0, fields } as never)
const struct = (...fields: object[]) => ({ type: 'struct', fields })
const list = (elementId: number, element: unknown) => ({
  type: 'list',
  'element-id': elementId,
  element,
  'element-required': false,
})

it('dropped and renamed columns are found on every level, those inside them are not listed again', async () => {
  const before = schema(
    column(1, 'id'),
    column(2, 's', struct(column(3, 'a', struct(column(4, 'b'))), column(5, 'c'))),
    column(6, 'l', list(7, struct(column(8, 'x'), column(9, 'y')))),
    column(10, 's.a'),
  )
  const after = schema(
    column(1, 'key'),
    column(2, 's', struct(column(5, 'c'))),
    column(6, 'l', list(7, struct(column(8, 'z'), column(9, 'y')))),
    column(10, 's.a'),
  )
  const changed = (await changedColumns({ before, after, formatVersion: 2 })).map(({ kind, name }) => `${kind} ${name}`)
  expect(changed).toEqual(['rename_column id', 'drop_column s.a', 'rename_column l.element.x'])
  expect(await changedColumns({ before, after: before, formatVersion: 2 })).toEqual([])
})

it('a renamed column is listed with the other changes of itself and of its fields', async () => {
  const before = schema(column(1, 'address', struct(column(2, 'zip'), column(3, 'city'))), column(4, 'total'))
  const renamed = schema(column(1, 'addr', struct(column(3, 'town'))), { ...column(4, 'sum'), required: true })
  const changed = await changedColumns({ before, after: renamed, formatVersion: 2 })
  expect(changed.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'rename_column address',
    'drop_column address.zip',
    'alter_column total',
  ])
})

it('the time to find dropped columns grows with their number', async () => {
  const growth = await growthOf(1250, (size) => {
    const before = schema(...Array.from({ length: size }, (_, at) => column(at + 1, `column_${at}`)))
    const after = schema(column(1, 'column_0'))
    return () => changedColumns({ before, after, formatVersion: 2 })
  })
  expect(growth).toBeLessThan(LINEAR)
})
