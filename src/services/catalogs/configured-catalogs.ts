import type { CatalogSettings } from '../../catalog/settings.ts'
import { DomainError } from '../../domain/errors.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { CatalogEntry, catalogList } from '../../schemas/tables/catalog-test.ts'
import type { Wire } from '../../schemas/wire.ts'
import { type PageQuery, pageOfList } from '../paging/paging.ts'
import type { CatalogService } from './catalog-service.ts'
import { redactor } from './secret-texts.ts'
import { describeSettings, secretsOf } from './shown-settings.ts'

type Configured = Pick<CatalogService, 'settings' | 'problem' | 'others' | 'version'>

/** A page of the configured catalogs without their secrets, the default first. */
export function listCatalogs(catalog: Configured, page: PageQuery): Wire<typeof catalogList> {
  const { items, next_page_token } = pageOfList(entriesOf(catalog), page, 'catalogs')
  return { success: true, catalogs: items, next_page_token }
}

/** A configured catalog as the list shows it, and its revision. Throws `NOT_FOUND`. */
export function describeCatalog(catalog: Configured, name: string) {
  const entry = entriesOf(catalog).find((one) => one.name === name)
  if (entry === undefined) throw noCatalog(name)
  const other = catalog.others().find(({ settings }) => settings.catalogName === name)
  return { entry, revision: entry.is_default ? catalog.version() : (other?.revision ?? 0) }
}

function entriesOf(catalog: Configured): readonly CatalogEntry[] {
  const settings = catalog.settings()
  const own = settings === undefined ? [] : [entryOf(settings, { isDefault: true, problem: catalog.problem() })]
  const others = catalog.others().map((one) => entryOf(one.settings, { isDefault: false, problem: one.problem }))
  return [...own, ...others]
}

function entryOf(
  settings: CatalogSettings,
  { isDefault, problem }: { readonly isDefault: boolean; readonly problem: unknown },
): CatalogEntry {
  return {
    name: settings.catalogName,
    is_default: isDefault,
    is_open: problem === undefined,
    problem: problem === undefined ? null : reasonOf(problem, settings),
    settings: describeSettings(settings),
  }
}

/** A problem in words. Errors of other kinds are not written for users. */
function reasonOf(problem: unknown, settings: CatalogSettings): string {
  if (!(problem instanceof IcebergError || problem instanceof DomainError)) {
    return 'The catalog could not be opened. A test of its connection shows more.'
  }
  const redact = redactor(secretsOf(settings).map((secret) => ['secret', secret]))
  return redact(problem.message)
}

/** The settings of a configured catalog, with secrets. Throws `NOT_FOUND`. */
export function findSettings(catalog: Pick<Configured, 'settings' | 'others'>, name: string): CatalogSettings {
  const all = [catalog.settings(), ...catalog.others().map(({ settings }) => settings)]
  const found = all.find((settings) => settings?.catalogName === name)
  if (found !== undefined) return found
  throw noCatalog(name)
}

function noCatalog(name: string): DomainError {
  return new DomainError('NOT_FOUND', `there is no catalog ${JSON.stringify(name)}`)
}
