import type { CatalogSettings } from '../../../catalog/settings.ts'
import type { ConnectionCheckName } from '../../../schemas/tables/catalog-test.ts'

type CatalogType = CatalogSettings['catalogType']

/** What to configure when a check fails, where it is the same for all types of catalogs. */
const HINTS: Readonly<Record<Exclude<ConnectionCheckName, 'reach'>, string>> = {
  list: 'Check that the user of the settings may list namespaces and tables, and that warehouse is the one that the catalog serves.',
  load: 'Check that the user may read the table, and that warehouse or allowed-locations contains its location.',
  read: 'Check that the credentials in extra_props, or those that the catalog lends, may read the data files.',
  write:
    'Maintenance and pipelines need to create, read and delete files: give the user these permissions below the warehouse.',
  commit: 'Maintenance and pipelines need to commit: give the user of the settings the permission to change tables.',
  credentials: 'Check the credentials in extra_props, and those that the catalog lends.',
}

const REACH: Readonly<Record<CatalogType, string>> = {
  sql: 'Check uri, the user and the password, and that this service may connect to the database.',
  rest: 'Check uri, which is the address of an Iceberg REST catalog with its path, the token or credential, and that this service may connect to it.',
  hadoop: 'Check warehouse, which is an existing folder that this service can read.',
}

/** What to configure when a check of a catalog of this type fails. */
export function hintFor(check: ConnectionCheckName, type: CatalogType): string {
  return check === 'reach' ? REACH[type] : HINTS[check]
}
