import { describe, expect, it } from 'vitest'
import type { TableMetadata } from '../../../src/iceberg/metadata/metadata.ts'
import type { SortField } from '../../../src/iceberg/partitioning/sort-order.ts'
import type { NestedField, SimpleTypeName } from '../../../src/iceberg/schema/types.ts'
import { sparkSortOrder, sparkWhere } from '../../../src/maintenance/spark/spark-text.ts'

const simple = (id: number, name: string, kind: SimpleTypeName): NestedField => ({
  id,
  name,
  required: false,
  type: { kind },
})

const fields: NestedField[] = [
  simple(1, 'day', 'date'),
  simple(2, 'region', 'string'),
  simple(3, 'n', 'long'),
  simple(4, 'seen', 'timestamptz'),
  simple(5, 'local', 'timestamp'),
  simple(6, 'odd`name', 'string'),
  { id: 7, name: 'place', required: false, type: { kind: 'struct', fields: [simple(8, 'city', 'string')] } },
]
const metadata = {
  currentSchemaId: 0,
  schemas: [{ schemaId: 0, identifierFieldIds: [], fields }],
} as unknown as TableMetadata

describe('a where text for Spark', () => {
  it.each([
    ["day >= '2026-01-01' AND n != -3", "`day` >= DATE '2026-01-01' AND `n` != -3"],
    ["region IN ('a', 'it''s')", "`region` IN ('a', 'it\\'s')"],
    ["region = '\\'", "`region` = '\\\\'"],
    ['"odd`name" IS NOT NULL and region is null', '`odd``name` IS NOT NULL AND `region` IS NULL'],
    [
      "n NOT IN (1, 2) OR region NOT LIKE 'a''b%' AND NOT (n BETWEEN 3 AND 4)",
      "`n` NOT IN (1, 2) OR (`region` NOT LIKE 'a\\'b%' AND (`n` < 3 OR `n` > 4))",
    ],
    ["place.city = 'x'", "`place`.`city` = 'x'"],
    ["seen < '2026-01-01'", "`seen` < TIMESTAMP '2026-01-01 UTC'"],
    ["seen < '2026-01-01T10:00:00Z'", "`seen` < TIMESTAMP '2026-01-01T10:00:00Z'"],
    ["local < '2026-01-01 10:00'", "`local` < TIMESTAMP_NTZ '2026-01-01 10:00'"],
  ])('%s', (where, text) => {
    expect(sparkWhere(where, metadata)).toBe(text)
  })

  it('never lets a value become a part of the text', () => {
    expect(sparkWhere("region = ''' OR 1=1 --'", metadata)).toBe("`region` = '\\' OR 1=1 --'")
    expect(() => sparkWhere('nothing = 1', metadata)).toThrow(/no column "nothing"/)
  })
})

describe('a sort order for Spark', () => {
  const field = (sourceId: number, rest: Partial<SortField>): SortField => ({
    sourceId,
    transform: { kind: 'identity' },
    direction: 'asc',
    nullOrder: 'nulls-first',
    ...rest,
  })

  it('names columns, directions and nulls', () => {
    const order = { orderId: 0, fields: [field(8, {}), field(3, { direction: 'desc', nullOrder: 'nulls-last' })] }
    expect(sparkSortOrder(order, metadata)).toBe('`place`.`city` ASC NULLS FIRST, `n` DESC NULLS LAST')
  })

  it('refuses transforms', () => {
    const order = { orderId: 1, fields: [field(1, { transform: { kind: 'year' } })] }
    expect(() => sparkSortOrder(order, metadata)).toThrow(/only asked to sort by columns/)
  })
})
