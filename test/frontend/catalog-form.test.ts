import { describe, expect, it } from 'vitest'
import { validateForm } from '../../frontend/src/components/form/form-schema.ts'
import {
  catalogChanges,
  type CatalogForm,
  toForm,
  toRequest,
} from '../../frontend/src/features/settings/catalog/form.ts'
import { catalogSchema } from '../../frontend/src/features/settings/catalog/schema.ts'
import type { CatalogConfig } from '../../src/schemas/catalog-config.ts'

const config: CatalogConfig = {
  configured: true,
  catalog_type: 'rest',
  warehouse: 's3://lake/warehouse',
  catalog_name: 'lake',
  uri: 'https://catalog.example/v1',
  extra_props: { token: '***', 's3.region': 'eu-west-1' },
}
const errorsOf = (form: CatalogForm, current: CatalogConfig) => validateForm(catalogSchema(current), form)

describe('the catalog form', () => {
  it('returns its initial values, with secrets as "keep what is there"', () => {
    const request = catalogSchema(config).parse(toForm(config))
    expect(request).toEqual({
      catalog_type: 'rest',
      catalog_name: 'lake',
      warehouse: 's3://lake/warehouse',
      uri: 'https://catalog.example/v1',
      extra_props: { token: '***', 's3.region': 'eu-west-1' },
    })
    expect(catalogChanges(config, request)).toEqual([])
  })

  it('omits empty rows and trims names', () => {
    const draft = {
      ...toForm(config),
      uri: ' ',
      properties: [
        { id: 9, key: ' a ', value: ' b' },
        { id: 10, key: '', value: '' },
      ],
    }
    expect(toRequest(draft)).toMatchObject({ uri: null, extra_props: { a: ' b' } })
  })

  it('lists changes, field by field', () => {
    const draft = {
      ...toForm(config),
      catalog_name: 'other',
      properties: [{ id: 0, key: 'token', value: 'env:TOKEN' }],
    }
    expect(catalogChanges(config, toRequest(draft))).toEqual([
      { field: 'catalog_name', from: 'lake', to: 'other' },
      { field: 'extra_props.token', from: '***', to: 'env:TOKEN' },
      { field: 'extra_props.s3.region', from: 'eu-west-1', to: null },
    ])
  })

  it('reports invalid values', () => {
    const empty = toForm({
      ...config,
      catalog_type: null,
      warehouse: null,
      catalog_name: null,
      uri: null,
      extra_props: {},
    })
    expect(errorsOf(empty, config)).toEqual({ uri: 'Required.' })
    const named = { ...empty, uri: 'https://catalog.example' }
    expect(errorsOf(named, config)).toEqual({ catalog_name: 'Required.', warehouse: 'Required.' })
    const rows = [
      { id: 1, key: 'a', value: '1' },
      { id: 2, key: 'a ', value: '2' },
      { id: 3, key: '', value: '3' },
    ]
    const problems = errorsOf({ ...toForm(config), properties: rows }, config)
    expect(Object.keys(problems)).toEqual(['properties.1.key', 'properties.2.key'])
    expect(errorsOf({ ...toForm(config), catalog_type: 'hadoop', uri: '' }, config)).toEqual({})
  })

  it('sends an address with a hidden password as it was shown, and no other address with the stars', () => {
    const shown: CatalogConfig = { ...config, catalog_type: 'sql', uri: 'postgresql://lake:***@db/catalog' }
    const draft = { ...toForm(shown), catalog_name: 'other' }
    expect(errorsOf(draft, shown)).toEqual({})
    expect(toRequest(draft).uri).toBe(shown.uri)
    expect(errorsOf({ ...draft, uri: ` ${shown.uri} ` }, shown)).toEqual({})
    for (const uri of ['postgresql://lake:***@elsewhere/catalog', 'postgresql://lake:***@db/catalog?sslmode=disable']) {
      expect(Object.keys(errorsOf({ ...draft, uri }, shown))).toEqual(['uri'])
    }
    const typed = { ...draft, uri: 'postgresql://lake:new@elsewhere/catalog' }
    expect(errorsOf(typed, shown)).toEqual({})
  })
})
