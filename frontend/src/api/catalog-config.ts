import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { CatalogAnswer, CatalogConfig, CatalogEntry, CatalogList } from './types.ts'

/** Path of the configuration of the default catalog. */
export const CONFIG_PATH = '/api/config'

/** Path of the list of all configured catalogs. */
export const CATALOGS_PATH = '/api/catalogs'

/** The configuration of a catalog with the tag that a change of it carries as `If-Match`. */
export interface TaggedConfig {
  readonly config: CatalogConfig
  readonly tag: string | null
}

/** The default catalog; secrets are shown as `***`. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: async ({ signal }): Promise<TaggedConfig> => {
    const { body, headers } = await api.send<CatalogConfig>('GET', CONFIG_PATH, { signal })
    return { config: body, tag: headers.get('ETag') }
  },
})

/** All configured catalogs, the default one first; pages of the service are put together. */
export const catalogsQuery = queryOptions({
  queryKey: ['config', 'catalogs'],
  queryFn: ({ signal }) => allCatalogs(signal),
})

async function allCatalogs(signal: AbortSignal): Promise<readonly CatalogEntry[]> {
  const catalogs: CatalogEntry[] = []
  let token: string | null = null
  do {
    const page: CatalogList = await api.get(CATALOGS_PATH, { query: { page_token: token }, signal })
    catalogs.push(...page.catalogs)
    token = page.next_page_token
  } while (token !== null)
  return catalogs
}

/** Path of a catalog beside the default one. */
export function catalogPath(name: string): string {
  return `${CATALOGS_PATH}/${encodeURIComponent(name)}`
}

/** A catalog beside the default one; secrets are shown as `***`. */
export const catalogQuery = (name: string) =>
  queryOptions({
    queryKey: ['config', 'catalogs', name],
    queryFn: ({ signal }) => readCatalog(name, signal),
  })

/** Reads a catalog beside the default one; secrets are shown as `***`. */
export async function readCatalog(name: string, signal: AbortSignal): Promise<TaggedConfig> {
  const { body, headers } = await api.send<CatalogAnswer>('GET', catalogPath(name), { signal })
  return { config: body.catalog.settings, tag: headers.get('ETag') }
}

/** The catalog that the name of a table or namespace begins with; undefined: the default catalog. */
export function catalogOf(name: string): string | undefined {
  const colon = name.indexOf(':')
  return colon > 0 ? name.slice(0, colon) : undefined
}
