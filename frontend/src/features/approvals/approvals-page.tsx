import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Approvals. */
export function ApprovalsPage() {
  return (
    <Page title="Approvals">
      <Loading />
    </Page>
  )
}
