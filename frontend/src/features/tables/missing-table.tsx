import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { configQuery } from '../../api/catalog-config.ts'
import { Empty } from '../../components/states.tsx'
import { tables as words } from '../../strings/tables.ts'

/** What is shown for a table that the catalog does not have: which catalog that is, as a link may be older than a switch. */
export function MissingTable({ table }: { readonly table: string }) {
  const { data } = useQuery(configQuery)
  return (
    <Empty
      title={words.missingTitle}
      detail={words.missing(table, data?.config.catalog_name ?? undefined)}
      action={<Link to="/tables">{words.toList}</Link>}
    />
  )
}
