import { passwordIn, REDACTED } from '../../../../src/domain/uri-password.ts'
import type { CatalogConfig, SetCatalogConfigRequest } from '../../api/types.ts'

export const CATALOG_TYPES = ['sql', 'rest', 'hadoop'] as const

export type CatalogType = (typeof CATALOG_TYPES)[number]

export interface PropertyRow {
  /** Of the row in the form, not of the property. */
  readonly id: number
  readonly key: string
  readonly value: string
}

/** The catalog form while it is filled in. */
export interface CatalogDraft {
  readonly catalogType: CatalogType
  readonly catalogName: string
  readonly warehouse: string
  readonly uri: string
  readonly properties: readonly PropertyRow[]
  /** Whether a missing SQLite file, or the tables in it, are made. */
  readonly create: boolean
}

/** The form for what is configured now, or an empty one. */
export function toDraft(config: CatalogConfig): CatalogDraft {
  return {
    catalogType: config.catalog_type ?? 'sql',
    catalogName: config.catalog_name ?? '',
    warehouse: config.warehouse ?? '',
    uri: config.uri ?? '',
    create: false,
    properties: Object.entries(config.extra_props).map(([key, value], id) => ({ id, key, value })),
  }
}

/** The request for a form; rows without a name and without a value are left out. */
export function toRequest(draft: CatalogDraft): SetCatalogConfigRequest {
  const named = draft.properties.filter(({ key, value }) => key.trim() !== '' || value !== '')
  return {
    catalog_type: draft.catalogType,
    catalog_name: draft.catalogName.trim(),
    warehouse: draft.warehouse.trim(),
    uri: draft.uri.trim() === '' ? null : draft.uri.trim(),
    extra_props: Object.fromEntries(named.map(({ key, value }) => [key.trim(), value])),
    ...(draft.create && isSqlite(draft) ? { create: true } : {}),
  }
}

/** Whether the form is for a catalog in a SQLite file. */
export function isSqlite({ catalogType, uri }: CatalogDraft): boolean {
  return catalogType === 'sql' && /^(jdbc:)?sqlite:/i.test(uri.trim())
}

/** Problems of a form for `config` by field (`property:<row>` for rows), in words; empty when it can be sent. */
export function checkDraft(
  draft: CatalogDraft,
  config: CatalogConfig,
  words: CatalogWords,
): ReadonlyMap<string, string> {
  const problems = new Map<string, string>()
  if (draft.catalogName.trim() === '') problems.set('catalog_name', words.required)
  if (draft.warehouse.trim() === '') problems.set('warehouse', words.required)
  if (draft.catalogType !== 'hadoop' && draft.uri.trim() === '') problems.set('uri', words.required)
  const uri = draft.uri.trim()
  if (passwordIn(uri) === REDACTED && uri !== config.uri) problems.set('uri', words.password)
  const seen = new Set<string>()
  for (const { id, key, value } of draft.properties) {
    const name = key.trim()
    if (name === '' && value !== '') problems.set(`property:${id}`, words.nameless)
    if (name !== '' && seen.has(name)) problems.set(`property:${id}`, words.twice)
    seen.add(name)
  }
  return problems
}

interface CatalogWords {
  readonly required: string
  /** The server keeps the password of an address only with that address. */
  readonly password: string
  readonly nameless: string
  readonly twice: string
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
