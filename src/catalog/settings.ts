import { IcebergError } from '../iceberg/errors.ts'

/** How a catalog is configured (docs/api.md#catalog-configuration); values may be `env:NAME` references. */
export interface CatalogSettings {
  readonly catalogType: 'sql' | 'rest' | 'hadoop'
  /** Folder of new tables, as a path or a URI; `rest`: or the server's name for it. */
  readonly warehouse: string
  readonly catalogName: string
  /** `sql`: `sqlite:///path` or `postgresql://…`; `rest`: `https://…`; otherwise unused. */
  readonly uri: string | null
  readonly extraProps: Readonly<Record<string, string>>
}

/** Extra property: further folders that may contain tables, separated by commas. */
export const ALLOWED_LOCATIONS = 'allowed-locations'

/** An extra property with its `env:NAME` looked up; undefined when it is not set. Throws `INVALID_ARGUMENT` when the variable is not set. */
export type ReadProperty = (key: string) => string | undefined

/** Reads the extra properties of these settings; unused properties are not resolved. */
export function propertyReader(
  { extraProps }: CatalogSettings,
  readSecret: (name: string) => string | undefined,
): ReadProperty {
  return (key) => {
    const value = extraProps[key]
    if (value?.startsWith('env:') !== true) return value
    const text = readSecret(value.slice('env:'.length))
    if (text === undefined) throw new IcebergError('INVALID_ARGUMENT', `extra_props.${key}: ${value} is not set`)
    return text
  }
}
