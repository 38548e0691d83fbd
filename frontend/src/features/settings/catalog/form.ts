import type { CatalogConfig, SetCatalogConfigRequest } from '../../../api/types.ts'

export const CATALOG_TYPES = ['sql', 'rest', 'hadoop'] as const

export type CatalogType = (typeof CATALOG_TYPES)[number]

export interface PropertyRow {
  /** Of the row in the form, not of the property. */
  readonly id: number
  readonly key: string
  readonly value: string
}

/** The values of the catalog form, named after the fields of the request. */
export interface CatalogForm {
  readonly catalog_type: CatalogType
  readonly catalog_name: string
  readonly warehouse: string
  readonly uri: string
  readonly properties: readonly PropertyRow[]
  /** Create a missing SQLite file, or the catalog tables in it. */
  readonly create: boolean
}

/** The settings of a catalog that does not exist yet. */
export const EMPTY_CATALOG: CatalogConfig = {
  configured: false,
  catalog_type: null,
  warehouse: null,
  catalog_name: null,
  uri: null,
  extra_props: {},
}

/** The form for the current configuration, or an empty form. */
export function toForm(config: CatalogConfig): CatalogForm {
  return {
    catalog_type: config.catalog_type ?? 'sql',
    catalog_name: config.catalog_name ?? '',
    warehouse: config.warehouse ?? '',
    uri: config.uri ?? '',
    create: false,
    properties: Object.entries(config.extra_props).map(([key, value], id) => ({ id, key, value })),
  }
}

/** The request for a form; rows without a name and without a value are left out. */
export function toRequest(form: CatalogForm): SetCatalogConfigRequest {
  const named = form.properties.filter(({ key, value }) => key.trim() !== '' || value !== '')
  return {
    catalog_type: form.catalog_type,
    catalog_name: form.catalog_name.trim(),
    warehouse: form.warehouse.trim(),
    uri: form.uri.trim() === '' ? null : form.uri.trim(),
    extra_props: Object.fromEntries(named.map(({ key, value }) => [key.trim(), value])),
    ...(form.create && isSqlite(form) ? { create: true } : {}),
  }
}

/** Whether the form is for a catalog in a SQLite file. */
export function isSqlite({ catalog_type: type, uri }: CatalogForm): boolean {
  return type === 'sql' && /^(jdbc:)?sqlite:/i.test(uri.trim())
}

/** A line of "what changes" before a catalog is set. */
export interface CatalogChange {
  readonly field: string
  readonly from: string | null
  readonly to: string | null
}

/** What a request changes in the configuration; a kept secret changes nothing. */
export function catalogChanges(config: CatalogConfig, request: SetCatalogConfigRequest): CatalogChange[] {
  const before: Record<string, string | null> = fieldsOf(config)
  const after: Record<string, string | null> = fieldsOf(request)
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((field) => ({ field, from: before[field] ?? null, to: after[field] ?? null }))
    .filter(({ from, to }) => from !== to)
}

function fieldsOf(config: CatalogConfig | SetCatalogConfigRequest): Record<string, string | null> {
  const properties = Object.entries(config.extra_props ?? {}).map(([key, value]) => [`extra_props.${key}`, value])
  return {
    catalog_type: config.catalog_type,
    catalog_name: config.catalog_name,
    warehouse: config.warehouse,
    uri: config.uri ?? null,
    ...(Object.fromEntries(properties) as Record<string, string>),
  }
}
