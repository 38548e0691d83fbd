import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Definitions. */
export function DefinitionsPage() {
  return (
    <Page title="Definitions">
      <Loading />
    </Page>
  )
}
