import type { CatalogSettings } from '../../catalog/settings.ts'
import { DomainError } from '../../domain/errors.ts'
import type { CatalogEntry, catalogList } from '../../schemas/tables/catalog-test.ts'
import type { Wire } from '../../schemas/wire.ts'
import { type PageQuery, pageOfList } from '../paging/paging.ts'
import type { CatalogService } from './catalog-service.ts'
import { describeSettings } from './shown-settings.ts'

type Configured = Pick<CatalogService, 'settings' | 'problem'>

/** A page of the configured catalogs without their secrets, the default first. */
export function listCatalogs(catalog: Configured, page: PageQuery): Wire<typeof catalogList> {
  const settings = catalog.settings()
  const configured = settings === undefined ? [] : [entryOf(settings, catalog)]
  const { items, next_page_token } = pageOfList(configured, page, 'catalogs')
  return { success: true, catalogs: items, next_page_token }
}

function entryOf(settings: CatalogSettings, { problem }: Configured): CatalogEntry {
  const isOpen = problem() === undefined
  return { name: settings.catalogName, is_default: true, is_open: isOpen, settings: describeSettings(settings) }
}

/** The settings of a configured catalog, with secrets. Throws `NOT_FOUND`. */
export function findSettings(catalog: Pick<Configured, 'settings'>, name: string): CatalogSettings {
  const settings = catalog.settings()
  if (settings?.catalogName === name) return settings
  throw new DomainError('NOT_FOUND', `there is no catalog ${JSON.stringify(name)}`)
}
