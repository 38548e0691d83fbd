import type { CatalogSettings } from '../../catalog/settings.ts'
import { hidePassword, passwordIn, REDACTED } from '../../domain/network/uri-password.ts'
import type { CatalogConfig } from '../../schemas/catalog-config.ts'

/** Extra properties whose values are shown: all others may be secrets. */
const HARMLESS =
  /^(allowed-locations|scope|oauth2-server-uri|clients|io-impl|s3\.(region|endpoint|path-style-access)|adls\.(endpoint|account-name|auth\.shared-key\.account\.name|tenant-id|client-id)|gcs\.(service\.host|endpoint|project-id|user-project|no-auth|oauth2\.token-expires-at)|client\.(region|profile-name|assume-role\.(arn|session-name|region|timeout-sec|endpoint))|rest\.(sigv4-enabled|signing-name|signing-region)|header\.accept)$/

/** Whether the value of an extra property is no secret. */
export function isHarmless(key: string): boolean {
  return HARMLESS.test(key)
}

/** Settings as the API shows them: secrets are `***`. Undefined: no catalog is configured. */
export function describeSettings(settings: CatalogSettings | undefined): CatalogConfig {
  const shown = Object.entries(settings?.extraProps ?? {}).map(([key, value]) => [
    key,
    isHarmless(key) || value.startsWith('env:') ? value : REDACTED,
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

/** The values that {@link describeSettings} hides, as they are stored. */
export function secretsOf({ extraProps, uri }: CatalogSettings): readonly string[] {
  const hidden = Object.entries(extraProps).filter(([key]) => !isHarmless(key))
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
