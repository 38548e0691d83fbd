import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Operations. */
export function OperationsPage() {
  return (
    <Page title="Operations">
      <Loading />
    </Page>
  )
}
