import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Pipeline. */
export function PipelinePage() {
  return (
    <Page title="Pipeline">
      <Loading />
    </Page>
  )
}
