import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogSettings } from '../catalog/catalog-settings.ts'
import type { RequestContext } from '../domain/audit.ts'
import { DomainError } from '../domain/errors.ts'
import { type Precondition, requireVersion } from '../domain/precondition.ts'
import { hidePassword, passwordIn, REDACTED } from '../domain/uri-password.ts'
import type { CatalogConfig, SetCatalogConfigRequest } from '../schemas/catalog-config.ts'
import type { CatalogSettingsStore } from './catalog-settings-store.ts'
import { requireSameAddresses } from './catalogs/kept-secrets.ts'

export interface CatalogServiceDeps {
  /** Opens a catalog, making its file and tables only with `create`; throws `IcebergError` when it cannot be used. */
  readonly openCatalog: (settings: CatalogSettings, options: { readonly create: boolean }) => Promise<Catalog>
  readonly store: CatalogSettingsStore
  /** What the very first start works on. */
  readonly initial: CatalogSettings
}

/** Holds the configured catalog and replaces it without a gap (contract, section 5). */
export interface CatalogService {
  /** The open catalog; `CATALOG_NOT_CONFIGURED` when there is none. */
  current(): Catalog
  /** Opens what is stored; a catalog that cannot be opened leaves the service up, and the reason in `problem`. */
  openStored(): Promise<void>
  /** Why there is no catalog although one is configured. */
  problem(): unknown
  describe(): CatalogConfig
  /** Values of the settings that {@link describe} hides, and those of `env:NAME` by name; one list per configuration. */
  secrets(): readonly string[]
  /** Changes with each configuration. */
  version(): number
  /** Follows a change that another process of the same state made; on failure the old catalog stays, and it throws. */
  refresh(): Promise<void>
  /** Opens the new catalog before it replaces the old one; on failure the old one stays. */
  configure(request: SetCatalogConfigRequest, demand: ConfigureDemand): Promise<CatalogConfig>
  close(): Promise<void>
}

/** Who configures, and which version they have read. */
export interface ConfigureDemand {
  readonly context: RequestContext
  readonly precondition: Precondition | undefined
}

const HARMLESS =
  /^(allowed-locations|scope|oauth2-server-uri|clients|io-impl|s3\.(region|endpoint|path-style-access)|client\.region|header\.accept)$/

/** A catalog service over the stored settings; call `openStored` before use. */
export function createCatalogService(deps: CatalogServiceDeps): CatalogService {
  let settings: CatalogSettings | undefined
  let revision = 0
  let catalog: Catalog | undefined
  let problem: unknown
  let secrets: readonly string[] = []
  const retired: Catalog[] = [] // work that began on a replaced catalog finishes on it

  function replace(next: { readonly catalog: Catalog; readonly settings: CatalogSettings; readonly revision: number }) {
    if (catalog) retired.push(catalog)
    ;({ catalog, settings, revision } = next)
    secrets = secretsOf(settings)
    problem = undefined
  }

  return {
    current() {
      if (catalog) return catalog
      const reason = settings ? 'the configured catalog could not be opened' : 'no catalog is configured'
      throw new DomainError('CATALOG_NOT_CONFIGURED', `${reason}: set one with PUT /api/config`)
    },
    async openStored() {
      ;({ settings, revision } = await deps.store.load(deps.initial))
      secrets = secretsOf(settings)
      try {
        catalog = await deps.openCatalog(settings, { create: false })
      } catch (error) {
        problem = error
      }
    },
    problem: () => problem,
    describe: () => describeSettings(settings),
    secrets: () => secrets,
    version: () => revision,
    async refresh() {
      const stored = await deps.store.load(deps.initial)
      if (stored.revision <= revision) return
      replace({ catalog: await deps.openCatalog(stored.settings, { create: false }), ...stored })
    },
    async configure(request, { context, precondition }) {
      requireVersion(precondition, revision)
      const next = merge(request, settings)
      const expected = revision
      const opened = await deps.openCatalog(next, { create: request.create ?? false })
      try {
        await opened.ping()
        replace({ catalog: opened, settings: next, revision: await deps.store.save(next, expected, context) })
      } catch (error) {
        await opened.close()
        throw error
      }
      return describeSettings(next)
    },
    async close() {
      const open = catalog ? [catalog, ...retired] : retired
      catalog = undefined
      await Promise.all(open.map((one) => one.close()))
    },
  }
}

function merge(request: SetCatalogConfigRequest, previous: CatalogSettings | undefined): CatalogSettings {
  const kept: string[] = []
  const extraProps = Object.entries(request.extra_props ?? {}).map(([key, value]) => {
    if (value !== REDACTED) return [key, value]
    const stored = previous?.extraProps[key]
    if (stored === undefined) throw nothingToKeep(`extra_props.${key}`)
    kept.push(`extra_props.${key}`)
    return [key, stored]
  })
  const next: CatalogSettings = {
    catalogType: request.catalog_type,
    warehouse: request.warehouse,
    catalogName: request.catalog_name,
    uri: keptUri(request.uri ?? null, previous?.uri ?? null),
    extraProps: Object.fromEntries(extraProps),
  }
  if (previous !== undefined) requireSameAddresses(next, previous, kept)
  return next
}

/** An address as it was shown stands for the stored one; a password is kept for no other address. */
function keptUri(uri: string | null, stored: string | null): string | null {
  if (stored !== null && uri === hidePassword(stored)) return stored
  if (uri !== null && passwordIn(uri) === REDACTED) throw nothingToKeep('uri')
  return uri
}

function nothingToKeep(path: string): DomainError {
  const message = 'there is no stored value to keep'
  return new DomainError('INVALID_REQUEST', `${path}: ${message}`, { fields: [{ path, message }] })
}

function describeSettings(settings: CatalogSettings | undefined): CatalogConfig {
  const shown = Object.entries(settings?.extraProps ?? {}).map(([key, value]) => [
    key,
    HARMLESS.test(key) || value.startsWith('env:') ? value : REDACTED,
  ])
  return {
    configured: settings !== undefined,
    catalog_type: settings?.catalogType ?? null,
    warehouse: settings?.warehouse ?? null,
    catalog_name: settings?.catalogName ?? null,
    uri: settings?.uri == null ? null : hidePassword(settings.uri),
    extra_props: Object.fromEntries(shown),
  }
}

function secretsOf({ extraProps, uri }: CatalogSettings): readonly string[] {
  const hidden = Object.entries(extraProps).filter(([key]) => !HARMLESS.test(key))
  const password = passwordIn(uri ?? '')
  return [...hidden.map(([, value]) => value), ...(password ? [password, decoded(password)] : [])]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a % that begins no escape
  }
}
