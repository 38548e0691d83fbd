import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useCan } from '../../../api/session.ts'
import type { Alert } from '../../../api/types.ts'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { alertStrings as strings } from '../../../strings/alerts.ts'
import { settingsStrings } from '../../../strings/settings.ts'
import { useDialog } from '../../../use-dialog.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { SettingsFrame } from '../settings-frame.tsx'
import { AlertDialog } from './alert-dialog.tsx'
import { AlertTable } from './alert-table.tsx'
import { alertsQuery } from './api.ts'
import { NotificationList } from './notification-list.tsx'

const DIALOGS = ['new'] as const

/** The alerts page, for leads. */
export function AlertsPage() {
  const isLead = useCan('LeadDataEngineer')
  if (isLead) return <Alerts />
  const { title, text } = settingsStrings.leadOnly.alerts
  return (
    <SettingsFrame tab="alerts">
      <Empty title={title} detail={text} />
    </SettingsFrame>
  )
}

function Alerts() {
  const [edited, setEdited] = useState<Alert>()
  const [dialog, openDialog] = useDialog(DIALOGS)
  const [{ alert }, changeSearch] = useSearchParams()
  const { data, error, isError, refetch } = useQuery(alertsQuery)
  const chosen = data?.find(({ id }) => id === alert)
  return (
    <SettingsFrame
      tab="alerts"
      lead={strings.lead}
      actions={<Button onClick={() => openDialog('new')}>{strings.create}</Button>}
    >
      {!data && isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!data && !isError && <Loading />}
      {data?.length === 0 ? <Empty title={strings.empty.title} detail={strings.empty.text} /> : undefined}
      {data && data.length > 0 && (
        <AlertTable
          alerts={data}
          selected={chosen?.id}
          onSelect={(id) => changeSearch({ alert: id === alert ? undefined : id })}
          onEdit={setEdited}
        />
      )}
      {chosen && <NotificationList alert={chosen} />}
      <AlertDialog opened={dialog === 'new'} alert={undefined} onClose={() => openDialog(undefined)} />
      <AlertDialog opened={edited !== undefined} alert={edited} onClose={() => setEdited(undefined)} />
    </SettingsFrame>
  )
}
