import type { CatalogSettings } from '../../catalog/settings.ts'
import { DomainError } from '../../domain/errors.ts'
import type { CatalogEntry } from '../../schemas/tables/catalog-test.ts'
import type { CatalogService } from './catalog-service.ts'
import { describeSettings } from './shown-settings.ts'

type Configured = Pick<CatalogService, 'settings' | 'problem'>

/** The configured catalogs without their secrets, the default first. */
export function listCatalogs(catalog: Configured): readonly CatalogEntry[] {
  const settings = catalog.settings()
  if (settings === undefined) return []
  const isOpen = catalog.problem() === undefined
  const shown = describeSettings(settings)
  return [{ name: settings.catalogName, is_default: true, is_open: isOpen, settings: shown }]
}

/** The settings of a configured catalog, with secrets. Throws `NOT_FOUND`. */
export function findSettings(catalog: Pick<Configured, 'settings'>, name: string): CatalogSettings {
  const settings = catalog.settings()
  if (settings?.catalogName === name) return settings
  throw new DomainError('NOT_FOUND', `there is no catalog ${JSON.stringify(name)}`)
}
