import { join } from 'node:path'

import { type RestCatalogOptions, createRestCatalog } from '../../../src/catalog/rest/catalog.ts'
import { onlyStores } from '../../../src/catalog/rest/file-io.ts'
import { restSettings } from '../../../src/catalog/rest/settings.ts'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import type { CatalogStore } from '../catalog-behaviour.ts'

export interface RestStoreOptions {
  readonly uri: string
  /** The server's name for the warehouse. */
  readonly warehouse: string
  /** Location of its tables. */
  readonly folder: string
  readonly extraProps?: Readonly<Record<string, string>>
  readonly catalog?: Partial<RestCatalogOptions>
  readonly env?: Readonly<Record<string, string>>
}

/** A warehouse of a REST server, in the form that the behaviour suite requires. */
export function restStore(options: RestStoreOptions): CatalogStore & { readonly warehouse: string } {
  const { uri, warehouse, folder, extraProps = {}, env = {} } = options
  const io = new LocalFileIO({ roots: [folder] })
  const open = (): Catalog =>
    createRestCatalog({
      settings: restSettings(
        { catalogType: 'rest', catalogName: 'test', warehouse, uri, extraProps },
        (name) => env[name],
      ),
      io: onlyStores([], io),
      outcomeWaitsMs: [5, 5],
      ...options.catalog,
    })
  return { io, warehouse: join(folder, 'warehouse'), open }
}
