import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { catalogOf, configQuery } from '../../api/catalog-config.ts'
import { Empty } from '../../components/status/states.tsx'
import { tables as words } from '../../strings/tables.ts'

/** Shown for a table that does not exist, with the name of the catalog, because the link may be from another catalog. */
export function MissingTable({ table }: { readonly table: string }) {
  const { data } = useQuery(configQuery)
  return (
    <Empty
      title={words.missingTitle}
      detail={words.missing(table, catalogOf(table) ?? data?.config.catalog_name ?? undefined)}
      action={<Link to="/tables">{words.toList}</Link>}
    />
  )
}
