import { describe, expect, it } from 'vitest'
import { catalogChanges, checkDraft, toDraft, toRequest } from '../../frontend/src/features/settings/catalog-form.ts'
import { setCatalogConfigRequest, type CatalogConfig } from '../../src/schemas/catalog-config.ts'

const config: CatalogConfig = {
  configured: true,
  catalog_type: 'rest',
  warehouse: 's3://lake/warehouse',
  catalog_name: 'lake',
  uri: 'https://catalog.example/v1',
  extra_props: { token: '***', 's3.region': 'eu-west-1' },
}
const words = { required: 'needed', password: 'password', nameless: 'no name', twice: 'twice' }

describe('the catalog form', () => {
  it('sends back what it was given, secrets as "keep what is there"', () => {
    const request = toRequest(toDraft(config))
    expect(setCatalogConfigRequest.parse(request)).toEqual({
      catalog_type: 'rest',
      catalog_name: 'lake',
      warehouse: 's3://lake/warehouse',
      uri: 'https://catalog.example/v1',
      extra_props: { token: '***', 's3.region': 'eu-west-1' },
    })
    expect(catalogChanges(config, request)).toEqual([])
  })

  it('leaves empty rows out and trims names', () => {
    const draft = {
      ...toDraft(config),
      uri: ' ',
      properties: [
        { id: 9, key: ' a ', value: ' b' },
        { id: 10, key: '', value: '' },
      ],
    }
    expect(toRequest(draft)).toMatchObject({ uri: null, extra_props: { a: ' b' } })
  })

  it('tells what changes, field by field', () => {
    const draft = {
      ...toDraft(config),
      catalogName: 'other',
      properties: [{ id: 0, key: 'token', value: 'env:TOKEN' }],
    }
    expect(catalogChanges(config, toRequest(draft))).toEqual([
      { field: 'catalog_name', from: 'lake', to: 'other' },
      { field: 'extra_props.token', from: '***', to: 'env:TOKEN' },
      { field: 'extra_props.s3.region', from: 'eu-west-1', to: null },
    ])
  })

  it('finds what cannot be sent', () => {
    const empty = toDraft({
      ...config,
      catalog_type: null,
      warehouse: null,
      catalog_name: null,
      uri: null,
      extra_props: {},
    })
    expect([...checkDraft(empty, config, words).keys()]).toEqual(['catalog_name', 'warehouse', 'uri'])
    const rows = [
      { id: 1, key: 'a', value: '1' },
      { id: 2, key: 'a ', value: '2' },
      { id: 3, key: '', value: '3' },
    ]
    const problems = checkDraft({ ...toDraft(config), properties: rows }, config, words)
    expect([...problems]).toEqual([
      ['property:2', 'twice'],
      ['property:3', 'no name'],
    ])
    expect(checkDraft({ ...toDraft(config), catalogType: 'hadoop', uri: '' }, config, words).size).toBe(0)
  })

  it('sends an address whose password is hidden as it was shown, and no other with the stars', () => {
    const shown: CatalogConfig = { ...config, catalog_type: 'sql', uri: 'postgresql://lake:***@db/catalog' }
    const draft = { ...toDraft(shown), catalogName: 'other' }
    expect(checkDraft(draft, shown, words).size).toBe(0)
    expect(toRequest(draft).uri).toBe(shown.uri)
    expect(checkDraft({ ...draft, uri: ` ${shown.uri} ` }, shown, words).size).toBe(0)
    for (const uri of ['postgresql://lake:***@elsewhere/catalog', 'postgresql://lake:***@db/catalog?sslmode=disable']) {
      expect(checkDraft({ ...draft, uri }, shown, words).get('uri')).toBe('password')
    }
    const typed = { ...draft, uri: 'postgresql://lake:new@elsewhere/catalog' }
    expect(checkDraft(typed, shown, words).size).toBe(0)
  })
})
