import { expect, it } from 'vitest'

import { RestEntityTags } from '../../../src/catalog/rest/entity-tags.ts'

it('knows the entity tags of as many tables as a run over all tables looks at', () => {
  const tags = new RestEntityTags()
  const tables = Array.from({ length: 10_000 }, (_, at) => ({ namespace: ['db'], name: `t${at}` }))
  for (const table of tables) tags.remember(table, `"${table.name}"`, `s3://wh/${table.name}/v1.json`)
  const known = tables.filter((table) => tags.find(table)?.entityTag === `"${table.name}"`)
  expect(known).toHaveLength(tables.length)
})
