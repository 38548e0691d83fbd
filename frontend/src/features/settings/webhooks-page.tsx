import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Webhooks. */
export function WebhooksPage() {
  return (
    <Page title="Webhooks">
      <Loading />
    </Page>
  )
}
