import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { catalogsQuery, configQuery } from '../../../api/catalog-config.ts'
import type { CatalogEntry } from '../../../api/types.ts'
import { useCan } from '../../../api/session.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { SettingsFrame } from '../settings-frame.tsx'
import classes from '../settings.module.css'
import { CatalogCard } from './card.tsx'
import { CatalogEditor } from './editor.tsx'
import { EMPTY_CATALOG } from './form.ts'

const NEW = { config: EMPTY_CATALOG, tag: null }

/** All catalogs, the default one first: read by all, changed by leads. */
export function CatalogPage() {
  const canChange = useCan('LeadDataEngineer')
  const [, changeSearch] = useSearchParams()
  const { data, error, isError, refetch } = useQuery(catalogsQuery)
  const canAdd = canChange && data !== undefined && data.length > 0
  const add = (): void => changeSearch({ action: 'add', target: '' })
  return (
    <SettingsFrame
      tab="catalog"
      lead={strings.lead}
      actions={canAdd && <Button onClick={add}>{strings.addCatalog}</Button>}
    >
      {!data && isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!data && !isError && <Loading />}
      {data && <Catalogs catalogs={data} canChange={canChange} />}
    </SettingsFrame>
  )
}

interface CatalogsProps {
  readonly catalogs: readonly CatalogEntry[]
  readonly canChange: boolean
}

function Catalogs({ catalogs, canChange }: CatalogsProps) {
  return (
    <>
      {catalogs.length === 0 ? <FirstCatalog canChange={canChange} /> : canChange && <NewCatalog />}
      {catalogs.map((catalog) => (
        <CatalogCard key={catalog.name} catalog={catalog} canChange={canChange} />
      ))}
      {!canChange && <p className={classes.dimmed}>{strings.readOnly}</p>}
    </>
  )
}

/** The form for a further catalog, while the address asks for it. */
function NewCatalog() {
  const [{ action }, changeSearch] = useSearchParams()
  if (action !== 'add') return null
  return (
    <section className={classes.catalog} aria-labelledby="new-catalog">
      <h2 id="new-catalog">{strings.addTitle}</h2>
      <CatalogEditor kind="new" current={NEW} onClose={() => changeSearch({ action: '' })} />
    </section>
  )
}

/** The form for a service that has no catalog yet. */
function FirstCatalog({ canChange }: { readonly canChange: boolean }) {
  const { data, error, isError, refetch } = useQuery(configQuery)
  return (
    <>
      <Notice tone="warn">{strings.notConfigured}</Notice>
      {!data && isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data && canChange && <CatalogEditor kind="default" current={data} />}
    </>
  )
}
