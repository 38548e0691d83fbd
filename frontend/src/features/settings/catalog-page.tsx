import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Catalog. */
export function CatalogPage() {
  return (
    <Page title="Catalog">
      <Loading />
    </Page>
  )
}
