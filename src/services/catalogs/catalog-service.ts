import type { Catalog } from '../../catalog/catalog.ts'
import type { CatalogSettings } from '../../catalog/settings.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Precondition, requireVersion } from '../../domain/precondition.ts'
import { hidePassword, passwordIn, REDACTED } from '../../domain/network/uri-password.ts'
import type { CatalogConfig, SetCatalogConfigRequest } from '../../schemas/catalog-config.ts'
import type { CatalogSettingsStore } from './catalog-settings-store.ts'
import { requireSameAddresses } from './kept-secrets.ts'
import { type HeldCatalog, OpenCatalogs } from './open-catalogs.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

interface OpenOptions {
  readonly create: boolean
  /** True for settings of a request, which must fulfil more than stored ones. */
  readonly isNew: boolean
}

export interface CatalogServiceDeps {
  /** Opens a catalog; creates its file and tables only with `create`. Throws `IcebergError` when it cannot be used. */
  readonly openCatalog: (settings: CatalogSettings, options: OpenOptions) => Promise<Catalog>
  readonly store: CatalogSettingsStore
  /** The configuration for the very first start. */
  readonly initial: CatalogSettings
  /** How long a replaced catalog stays open for calls that started on it; default 5 minutes, in ms. */
  readonly closeAfterMs?: number | undefined
  /** Called when a replaced catalog could not be closed. */
  readonly onCloseError: (error: unknown) => void
}

/** Holds the configured catalog and replaces it without interruption (docs/api.md#catalog-configuration). */
export interface CatalogService {
  /** The open catalog, for work of a few minutes at most. Throws `CATALOG_NOT_CONFIGURED` when there is none. */
  current(): Catalog
  /** The open catalog, for work of any length: it stays open until it is released. Errors as {@link current}. */
  hold(): HeldCatalog
  /** Opens the stored configuration; when that fails, the service stays up and `problem` returns the reason. */
  openStored(): Promise<void>
  /** Why no catalog is open although one is configured. */
  problem(): unknown
  describe(): CatalogConfig
  /** The setting values that {@link describe} hides, with those of `env:NAME` by name; one list per configuration. */
  secrets(): readonly string[]
  /** Changes with each configuration. */
  version(): number
  /** Applies a change that another process sharing the state made. On failure the old catalog stays and this throws. */
  refresh(): Promise<void>
  /** Opens the new catalog before it replaces the old one; on failure the old one stays. */
  configure(request: SetCatalogConfigRequest, options: ConfigureOptions): Promise<CatalogConfig>
  close(): Promise<void>
}

/** Who changes the configuration, and which revision they have read. */
export interface ConfigureOptions {
  readonly context: RequestContext
  readonly precondition: Precondition | undefined
}

const HARMLESS =
  /^(allowed-locations|scope|oauth2-server-uri|clients|io-impl|s3\.(region|endpoint|path-style-access)|adls\.(endpoint|account-name|auth\.shared-key\.account\.name|tenant-id|client-id)|gcs\.(service\.host|endpoint|project-id|user-project|no-auth|oauth2\.token-expires-at)|client\.(region|profile-name|assume-role\.(arn|session-name|region|timeout-sec|endpoint))|rest\.(sigv4-enabled|signing-name|signing-region)|header\.accept)$/

const CLOSE_AFTER_MS = 5 * 60_000

/** A catalog service over the stored settings; call `openStored` before use. */
export function createCatalogService(deps: CatalogServiceDeps): CatalogService {
  let settings: CatalogSettings | undefined
  let revision = 0
  let catalog: Catalog | undefined
  let problem: unknown
  let secrets: readonly string[] = []
  const { closeAfterMs = CLOSE_AFTER_MS, onCloseError: onError } = deps
  const open = new OpenCatalogs({ closeAfterMs, onError })

  function replace(next: { readonly catalog: Catalog; readonly settings: CatalogSettings; readonly revision: number }) {
    if (catalog) open.replaced(catalog)
    ;({ catalog, settings, revision } = next)
    secrets = secretsOf(settings)
    problem = undefined
  }

  function current(): Catalog {
    if (catalog) return catalog
    throw noCatalog(settings)
  }

  return {
    current,
    hold: () => open.hold(current()),
    async openStored() {
      ;({ settings, revision } = await deps.store.load(deps.initial))
      secrets = secretsOf(settings)
      try {
        catalog = await deps.openCatalog(settings, { create: false, isNew: false })
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
      replace({ catalog: await deps.openCatalog(stored.settings, { create: false, isNew: false }), ...stored })
    },
    async configure(request, { context, precondition }) {
      requireVersion(precondition, revision)
      const next = merge(request, settings)
      const expected = revision
      const opened = await deps.openCatalog(next, { create: request.create ?? false, isNew: true })
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
      const last = catalog
      catalog = undefined
      await Promise.all([last?.close(), open.close()])
    },
  }
}

function noCatalog(settings: CatalogSettings | undefined): DomainError {
  const reason = settings ? 'the configured catalog could not be opened' : 'no catalog is configured'
  return new DomainError('CATALOG_NOT_CONFIGURED', `${reason}: set one with PUT /api/config`)
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

/** A redacted address stands for the stored one; a password is never kept for a different address. */
function keptUri(uri: string | null, stored: string | null): string | null {
  if (stored !== null && uri === hidePassword(stored)) return stored
  if (uri !== null && passwordIn(uri) === REDACTED) throw nothingToKeep('uri')
  return uri
}

function nothingToKeep(path: string): DomainError {
  return fieldRefusal('INVALID_REQUEST', [
    { path, message: 'is ***, but there is no stored value to keep: send the value' },
  ])
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
