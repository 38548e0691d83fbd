import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Pipelines. */
export function PipelinesPage() {
  return (
    <Page title="Pipelines">
      <Loading />
    </Page>
  )
}
