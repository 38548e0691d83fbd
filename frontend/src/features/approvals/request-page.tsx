import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Approval request. */
export function RequestPage() {
  return (
    <Page title="Approval request">
      <Loading />
    </Page>
  )
}
