import { useQuery } from '@tanstack/react-query'
import { isMissing } from '../../api/api-error.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import { serviceHealthQuery } from '../../api/service-health.ts'
import { useCan } from '../../api/session.ts'
import { refresh } from '../../api/actions/refresh.ts'
import { Page } from '../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { notebookStrings as strings } from '../../strings/notebooks.ts'
import { notebookQuery } from './api.ts'
import { NotebookPanel } from './notebook-panel.tsx'

/** The caller's notebook: its state, and what can be done with it. */
export function NotebooksPage() {
  const isEngineer = useCan('DataEngineer')
  const { data: health, isPending } = useQuery(serviceHealthQuery)
  const hasNone = health?.checks.cluster === 'not_configured'
  const notebook = isPending ? <Loading lines={3} /> : hasNone ? <NoCluster /> : <Notebook />
  return (
    <Page title={strings.title} lead={strings.lead}>
      {isEngineer ? notebook : <Empty title={strings.forbidden.title} detail={strings.forbidden.text} />}
    </Page>
  )
}

function NoCluster() {
  return <Empty title={strings.none.title} detail={strings.none.text} />
}

function Notebook() {
  useLiveEvents('notebook.', () => void refresh('notebook'))
  const { data, error, isPending, refetch } = useQuery(notebookQuery)
  if (data) return <NotebookPanel notebook={data} />
  if (isPending) return <Loading lines={3} />
  if (isMissing(error)) return <NoCluster />
  return <ErrorState error={error} onRetry={() => void refetch()} />
}
