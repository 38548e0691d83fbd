import { Page } from '../../components/page.tsx'
import { Loading } from '../../components/states.tsx'

/** Notebooks. */
export function NotebooksPage() {
  return (
    <Page title="Notebooks">
      <Loading />
    </Page>
  )
}
