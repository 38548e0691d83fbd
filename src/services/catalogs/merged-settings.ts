import type { CatalogSettings } from '../../catalog/settings.ts'
import type { DomainError } from '../../domain/errors.ts'
import { hidePassword, passwordIn, REDACTED } from '../../domain/network/uri-password.ts'
import type { SetCatalogConfigRequest } from '../../schemas/catalog-config.ts'
import { fieldRefusal } from '../../schemas/issues.ts'
import { requireSameAddresses } from './kept-secrets.ts'

/**
 * The settings that a request stands for, with the stored secrets that it keeps. Throws `INVALID_REQUEST` for a secret that is
 * not stored, or would be sent to another address than before.
 */
export function mergeSettings(
  request: SetCatalogConfigRequest,
  previous: CatalogSettings | undefined,
): CatalogSettings {
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
