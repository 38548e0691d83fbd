import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { configQuery } from '../api/catalog-config.ts'
import { useLiveEvents } from '../api/live-events.ts'
import { queryClient } from '../api/query-client.ts'
import { CatalogIcon } from '../components/icons.tsx'
import { shell } from '../strings/everywhere/shell.ts'
import classes from './app-layout.module.css'

/** The catalog in use. When it is switched, all data is reloaded. */
export function CatalogName({ onNavigate }: { readonly onNavigate?: () => void }) {
  const { data } = useQuery(configQuery)
  useLiveEvents('config.', () => void queryClient.invalidateQueries())
  if (data === undefined) return null
  const { configured, catalog_name: name, warehouse } = data.config
  return (
    <Link to="/settings/catalog" className={classes.catalog} title={warehouse ?? undefined} onClick={onNavigate}>
      <CatalogIcon size={14} />
      <span>{configured && name !== null ? shell.catalog(name) : shell.noCatalog}</span>
    </Link>
  )
}
