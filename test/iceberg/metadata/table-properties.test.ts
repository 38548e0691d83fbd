import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  requireSupportedProperties,
  TABLE_PROPERTIES,
  tableProperty,
} from '../../../src/iceberg/metadata/table-properties.ts'

const repository = fileURLToPath(new URL('../../../', import.meta.url))

/** The source without the list itself. */
const source = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('table-properties.ts'))
  .map((name) => readFileSync(join(repository, 'src', name), 'utf8'))
  .join('\n')

describe('table properties', () => {
  it('are listed in docs/table-properties.md as in the code', () => {
    const text = readFileSync(join(repository, 'docs/table-properties.md'), 'utf8')
    const rows = [...text.matchAll(/^\| `([^`]+)` +\| (\w+) +\| (.*?) *\|$/gm)].map(([, name, treatment, note]) => ({
      name,
      treatment,
      note,
    }))
    expect(rows).toEqual(TABLE_PROPERTIES.map(({ name, treatment, note }) => ({ name, treatment, note })))
  })

  it.each(TABLE_PROPERTIES.filter(({ treatment }) => treatment === 'honoured').map(({ name }) => name))(
    '%s is read somewhere',
    (name) => {
      expect(source).toContain(`'${name.replace(/\*$/, '')}`)
    },
  )

  it('that are not read are not called honoured', () => {
    const read = [...source.matchAll(/'((?:write|commit|history|gc)\.[a-z][a-z.-]*[a-z])'/g)].map(
      ([, name]) => name ?? '',
    )
    expect(read.length).toBeGreaterThan(20)
    for (const name of read)
      expect(['honoured', 'otherwise', 'refused'], name).toContain(tableProperty(name)?.treatment)
  })

  it('that cannot be honoured and must not be ignored are refused, naming them', () => {
    for (const { name } of TABLE_PROPERTIES.filter(({ treatment }) => treatment === 'refused')) {
      const property = name.replace('*', 'x')
      expect(() => requireSupportedProperties({ [property]: 'x' })).toThrow(property)
    }
    const others = TABLE_PROPERTIES.filter(({ treatment }) => treatment !== 'refused')
    expect(() =>
      requireSupportedProperties(Object.fromEntries(others.map(({ name }) => [name.replace('*', 'x'), 'x']))),
    ).not.toThrow()
  })

  it('have one entry each, and the longest name counts', () => {
    expect(new Set(TABLE_PROPERTIES.map(({ name }) => name)).size).toBe(TABLE_PROPERTIES.length)
    expect(tableProperty('encryption.data-key-length')?.treatment).toBe('unused')
    expect(tableProperty('encryption.key-id')?.treatment).toBe('refused')
    expect(tableProperty('owner')).toBeUndefined()
  })
})
