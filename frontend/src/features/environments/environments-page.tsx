import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLiveEvents } from '../../api/live-events.ts'
import { useCan } from '../../api/session.ts'
import { refresh } from '../../api/actions/refresh.ts'
import { Page } from '../../components/page/page.tsx'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { managedNotice } from '../../strings/everywhere/managed.ts'
import { environmentStrings as words } from '../../strings/environments.ts'
import { useLiveDeployments } from '../deployments/api.ts'
import { environmentsQuery } from './api.ts'
import { EditDialog } from './edit-dialog.tsx'
import { EnvironmentCard } from './environment-card.tsx'
import classes from './environments.module.css'

/** The settings of the environments: read by all, changed by leads. */
export function EnvironmentsPage() {
  const isLead = useCan('LeadDataEngineer')
  const { data, error, isError, refetch } = useQuery(environmentsQuery)
  const [edited, setEdited] = useState<string>()
  useLiveDeployments()
  useLiveEvents('environment.', () => void refresh('environments'))
  return (
    <Page title={words.title} lead={isLead ? words.lead : `${words.lead} ${words.readOnly}`}>
      {!data && isError ? <ErrorState error={error} onRetry={() => void refetch()} /> : undefined}
      {!data && !isError ? <Loading /> : undefined}
      {data && (
        <div className={classes.environments}>
          {data.map((settings) => (
            <EnvironmentCard
              key={settings.environment}
              settings={settings}
              {...(isLead && managedNotice(settings) === undefined
                ? { onEdit: () => setEdited(settings.environment) }
                : {})}
            />
          ))}
        </div>
      )}
      {data && (
        <EditDialog
          current={data.find(({ environment }) => environment === edited)}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Page>
  )
}
