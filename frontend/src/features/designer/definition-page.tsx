import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Definition. */
export function DefinitionPage() {
  return (
    <Page title="Definition">
      <Loading />
    </Page>
  )
}
