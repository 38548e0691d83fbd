import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Tokens. */
export function TokensPage() {
  return (
    <Page title="Tokens">
      <Loading />
    </Page>
  )
}
