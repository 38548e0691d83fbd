import type { Catalog } from '../../catalog/catalog.ts'
import type { CatalogSettings } from '../../catalog/settings.ts'
import { DomainError } from '../../domain/errors.ts'

/**
 * The name of the catalog that a client means by its `warehouse`, a name or a location; undefined for the default one, which is also the
 * one of a client without a warehouse. Throws `NOT_FOUND` when there is none.
 */
export function catalogOfWarehouse(
  warehouse: string | undefined,
  { name, warehouse: location }: Pick<Catalog, 'name' | 'warehouse'>,
  others: readonly CatalogSettings[],
): string | undefined {
  if (warehouse === undefined || warehouse === name || isSameLocation(warehouse, location)) return undefined
  const found =
    others.find(({ catalogName }) => catalogName === warehouse) ??
    others.find((other) => isSameLocation(other.warehouse, warehouse))
  if (found !== undefined) return found.catalogName
  const asked = JSON.stringify(warehouse.slice(0, 200))
  const names = [name, ...others.map(({ catalogName }) => catalogName)].map((one) => JSON.stringify(one)).join(', ')
  throw new DomainError('NOT_FOUND', `there is no warehouse ${asked}; this service has the catalogs ${names}`)
}

function isSameLocation(a: string, b: string): boolean {
  return withoutSlash(a) === withoutSlash(b)
}

function withoutSlash(location: string): string {
  return location.replace(/\/+$/, '')
}
