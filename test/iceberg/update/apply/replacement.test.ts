import { describe, expect, it } from 'vitest'
import { newTableMetadata } from '../../../../src/catalog/new-table.ts'
import { currentSchema, currentSpec, serializeTableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import { parseTableMetadata } from '../../../../src/iceberg/metadata/metadata.ts'
import { parsePartitionSpec } from '../../../../src/iceberg/partitioning/partitioning.ts'
import { parseSortOrder } from '../../../../src/iceberg/partitioning/sort-order.ts'
import { parseSchema } from '../../../../src/iceberg/schema/schema.ts'
import { applyUpdates } from '../../../../src/iceberg/update/apply/apply-updates.ts'
import { creationOf, type Layout, REPLACEMENTS, replacementUpdates } from './replacements.ts'

function tableOf(layout: Layout, formatVersion: 1 | 2 | 3) {
  const { schema, 'partition-spec': spec, 'write-order': order } = creationOf('t', layout, formatVersion)
  return newTableMetadata({
    schema: parseSchema(schema ?? {}),
    ...(spec === undefined ? {} : { partitionSpec: parsePartitionSpec(spec) }),
    ...(order === undefined ? {} : { sortOrder: parseSortOrder(order) }),
    location: 'file:///lake/t',
    formatVersion,
  })
}

const cases = REPLACEMENTS.flatMap(({ name, versions, ...layouts }) =>
  versions.map((version) => ({ name: `${name} in version ${version}`, version, ...layouts })),
)

describe('a replacement of a table', () => {
  it.each(cases)('is applied when it $name', ({ version, before, after }) => {
    const base = tableOf(before, version)
    const next = applyUpdates(base, replacementUpdates({ before, after }), { nowMs: base.lastUpdatedMs + 1 })
    const read = parseTableMetadata(serializeTableMetadata(next))
    expect(currentSchema(read).fields.map(({ id, name }) => [id, name])).toEqual(
      after.fields.map((field) => [field['id'], field['name']]),
    )
    expect(currentSpec(read).fields.map(({ name }) => name)).toEqual((after.spec ?? []).map((field) => field['name']))
    expect(read.partitionSpecs.length).toBeGreaterThan(0)
  })

  it('is refused when the partition spec in use needs a column that is gone in the end', () => {
    const [{ before } = { before: { fields: [] } }] = REPLACEMENTS
    const base = tableOf(before, 2)
    const after = { ...before, fields: before.fields.slice(0, 1) }
    expect(() => applyUpdates(base, replacementUpdates({ before, after }), { nowMs: base.lastUpdatedMs + 1 })).toThrow(
      'partition field "p" needs the column with id 2',
    )
  })
})
