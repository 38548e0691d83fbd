import type { Catalog } from '../../../catalog/catalog.ts'
import { formatIdentifier, formatNamespace, noSuchNamespace, withParents } from '../../../catalog/table-identifier.ts'
import type { TableIdentifier } from '../../../iceberg/metadata/table.ts'
import type { Caller } from '../../../domain/roles.ts'
import { isLimited, seesTable } from './require-access.ts'

/** Stands for any table of a namespace: no real table is called so. */
const ANY_TABLE = '\ue000'

/**
 * The namespaces of one catalog that exist for the caller: those with a visible table, and those whose every table would be visible.
 * `name` is undefined for the default catalog.
 */
export async function visibleNamespaces(
  catalog: Catalog,
  name: string | undefined,
  caller: Caller,
): Promise<readonly (readonly string[])[]> {
  const all = await catalog.listNamespaces()
  if (!isLimited(caller)) return all
  const tables = (await catalog.listTables()).filter((one) => seesTable(caller, formatIdentifier(one)))
  const own = name === undefined ? {} : { catalog: name }
  const granted = all.filter((namespace) => seesTable(caller, formatIdentifier({ ...own, namespace, name: ANY_TABLE })))
  const names = [...tables.map(({ namespace }) => namespace), ...granted].map(formatNamespace)
  const visible = new Set(withParents(names.filter((name) => name !== '')).map(formatNamespace))
  return all.filter((namespace) => visible.has(formatNamespace(namespace)))
}

/** Throws `NO_SUCH_NAMESPACE` for a namespace that does not exist for the caller; one that does not exist at all is left to the catalog. */
export async function requireNamespace(
  catalog: Catalog,
  { catalog: catalogName, namespace }: Pick<TableIdentifier, 'catalog' | 'namespace'>,
  caller: Caller,
): Promise<void> {
  if (!isLimited(caller)) return
  const name = formatNamespace(namespace)
  const visible = await visibleNamespaces(catalog, catalogName, caller)
  if (!visible.some((one) => formatNamespace(one) === name)) throw noSuchNamespace(namespace)
}
