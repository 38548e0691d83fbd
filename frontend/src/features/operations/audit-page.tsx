import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Audit log. */
export function AuditPage() {
  return (
    <Page title="Audit log">
      <Loading />
    </Page>
  )
}
