import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Tables. */
export function TablesPage() {
  return (
    <Page title="Tables">
      <Loading />
    </Page>
  )
}
