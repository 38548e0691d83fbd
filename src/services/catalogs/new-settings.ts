import { mkdir, stat } from 'node:fs/promises'
import type { CatalogSettings } from '../../catalog/settings.ts'
import { isStoreLocation } from '../../catalog/stores/table-files.ts'
import { pathOfLocation } from '../../iceberg/io/local-location.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

export interface NewSettingsRule {
  /** Whether the folder of a hadoop catalog may be created. */
  readonly create: boolean
  /** Looks up an `env:NAME` value. Throws `INVALID_ARGUMENT` for a variable that must not be read. */
  readonly readSecret: (name: string) => string | undefined
}

/**
 * Checks what only a new configuration must fulfil, before its catalog is opened. Throws `INVALID_ARGUMENT` for a
 * variable that must not be read, also in a property that the catalog does not use; `UNPROCESSABLE` for the folder of a
 * hadoop catalog that does not exist: the catalog would be empty instead of wrong.
 */
export async function admitNewSettings(settings: CatalogSettings, { create, readSecret }: NewSettingsRule) {
  for (const value of Object.values(settings.extraProps)) {
    if (value.startsWith('env:')) readSecret(value.slice('env:'.length))
  }
  const { catalogType, warehouse } = settings
  if (catalogType === 'hadoop' && !isStoreLocation(warehouse)) await admitFolder(pathOfLocation(warehouse), create)
}

async function admitFolder(path: string, create: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() === true) return
  if (found !== undefined) refuse('names something else than a folder')
  if (!create) refuse('names a folder that does not exist: correct it, or send create: true to create it')
  await mkdir(path, { recursive: true }).catch((cause: unknown) =>
    refuse('names a folder that cannot be created', cause),
  )
}

function refuse(what: string, cause?: unknown): never {
  throw fieldRefusal('UNPROCESSABLE', [{ path: 'warehouse', message: what }], cause)
}
