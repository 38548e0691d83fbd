import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Operation. */
export function OperationPage() {
  return (
    <Page title="Operation">
      <Loading />
    </Page>
  )
}
