import type { LakeCoordinates } from './notebook-spec.ts'

/** The catalog as the service is configured with it, its secrets left out. */
export interface ConfiguredCatalog {
  readonly type: string
  readonly name: string
  readonly warehouse: string
  readonly uri: string | undefined
}

/** What only whoever runs the service knows: how things are called from a pod. */
export interface PodView {
  readonly apiUrl: string | undefined
  readonly catalogUri: string | undefined
}

/**
 * How a notebook reaches the lakehouse. The address of a REST catalog is the same for everybody and holds no secret.
 * A SQLite file lies on the service's disk, and the address of a SQL server holds the service's own password: of these
 * a notebook gets only what `NOTEBOOK_CATALOG_URI` says, and otherwise finds its tables through the service.
 */
export function lakeCoordinates(catalog: ConfiguredCatalog, { apiUrl, catalogUri }: PodView): LakeCoordinates {
  return {
    apiUrl,
    catalogName: catalog.name,
    catalogType: catalog.type,
    catalogUri: catalogUri ?? (catalog.type === 'rest' ? catalog.uri : undefined),
    warehouse: catalog.warehouse,
  }
}
