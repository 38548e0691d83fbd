import { IcebergError } from '../iceberg/errors.ts'
import type { Env } from './env.ts'

/** Prefix of variables for catalogs and stores. */
const PREFIX = 'LAKE_'

/**
 * Resolves `env:NAME` in settings. Only names that start with `LAKE_` or are allowed by the configuration can be read,
 * because the user who configures the catalog also chooses where the value is sent. Throws `INVALID_ARGUMENT` for other
 * names, whether they are set or not.
 */
export function secretReader(env: Env, allowed: readonly string[]): (name: string) => string | undefined {
  return (name) => {
    if (name.startsWith(PREFIX) || allowed.includes(name)) return env[name]
    const rule = `only names that start with ${PREFIX}, or are listed in CONFIG_ENV_ALLOW, can be used`
    throw new IcebergError('INVALID_ARGUMENT', `extra_props: env:${name} cannot be read: ${rule}`)
  }
}
