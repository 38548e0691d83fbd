import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Agent. */
export function AgentPage() {
  return (
    <Page title="Agent">
      <Loading />
    </Page>
  )
}
