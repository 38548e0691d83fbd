import type { LakeCoordinates } from './spec.ts'

/** The configured catalog, without its secrets. */
export interface ConfiguredCatalog {
  readonly type: string
  readonly name: string
  readonly warehouse: string
  readonly uri: string | undefined
}

/** Addresses as seen from a pod, which only the operator knows. */
export interface PodView {
  readonly apiUrl: string | undefined
  readonly catalogUri: string | undefined
}

/**
 * How a notebook reaches the lakehouse. The address of a REST catalog is the same for everybody and contains no secret.
 * A SQLite file is on the service's disk, and the address of a SQL server contains the service's password: for these, a
 * notebook gets only `NOTEBOOK_CATALOG_URI`, and otherwise lists its tables through the service.
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
