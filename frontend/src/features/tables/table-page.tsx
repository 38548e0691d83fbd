import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Table. */
export function TablePage() {
  return (
    <Page title="Table">
      <Loading />
    </Page>
  )
}
