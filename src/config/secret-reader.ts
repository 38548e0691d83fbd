import { IcebergError } from '../iceberg/errors.ts'
import type { Env } from './env.ts'

/** Variables that are meant for catalogs and stores. */
const PREFIX = 'LAKE_'

/**
 * Looks up what settings name by `env:NAME`. Only names that start with `LAKE_` or that the process allows can be read:
 * whoever sets the catalog also says where the value is sent. `INVALID_ARGUMENT` for other names, set or not.
 */
export function secretReader(env: Env, allowed: readonly string[]): (name: string) => string | undefined {
  return (name) => {
    if (name.startsWith(PREFIX) || allowed.includes(name)) return env[name]
    const rule = `only names that start with ${PREFIX}, or are listed in CONFIG_ENV_ALLOW, can be used`
    throw new IcebergError('INVALID_ARGUMENT', `extra_props: env:${name} cannot be read: ${rule}`)
  }
}
