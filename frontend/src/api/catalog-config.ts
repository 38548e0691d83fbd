import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { CatalogConfig } from './types.ts'

/** Path of the catalog configuration. */
export const CONFIG_PATH = '/api/config'

/** The configuration with the tag that a change of it carries as `If-Match`. */
export interface TaggedConfig {
  readonly config: CatalogConfig
  readonly tag: string | null
}

/** The catalog in use; secrets are shown as `***`. */
export const configQuery = queryOptions({
  queryKey: ['config'],
  queryFn: async ({ signal }): Promise<TaggedConfig> => {
    const { body, headers } = await api.send<CatalogConfig>('GET', CONFIG_PATH, { signal })
    return { config: body, tag: headers.get('ETag') }
  },
})
