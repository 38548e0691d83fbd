import { expect, it } from 'vitest'
import type { CatalogSettings } from '../../../src/catalog/settings.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { listCatalogs } from '../../../src/services/catalogs/configured-catalogs.ts'

const SETTINGS: CatalogSettings = {
  catalogType: 'rest',
  warehouse: 'lake',
  catalogName: 'lake',
  uri: 'https://catalog.example',
  extraProps: { token: 'secret-of-the-lake' },
}

function entryWith(problem: unknown) {
  const configured = { settings: () => SETTINGS, problem: () => problem, others: () => [], version: () => 1 }
  return listCatalogs(configured, {}).catalogs[0]
}

it('A catalog that is open has no problem', () => {
  expect(entryWith(undefined)).toMatchObject({ is_open: true, problem: null })
})

it('The problem of a catalog has no secret when its error repeats one', () => {
  const error = new IcebergError('ENGINE_FAILED', 'refused the token secret-of-the-lake.')
  expect(entryWith(error)).toMatchObject({ is_open: false, problem: 'refused the token ***.' })
})

it('The problem of a catalog names no unexpected error, which nobody wrote for users', () => {
  const entry = entryWith(new TypeError('password=hunter22 is not iterable'))
  expect(entry?.is_open).toBe(false)
  expect(entry?.problem).toMatch(/^The catalog could not be opened\./)
  expect(entry?.problem).not.toContain('hunter22')
})
