import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useCan } from '../../../api/session.ts'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { settingsStrings, webhookStrings as strings } from '../../../strings/settings.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { webhooksQuery } from '../api.ts'
import { Deliveries } from './deliveries.tsx'
import { NewWebhook } from './new-webhook.tsx'
import { SettingsFrame } from '../settings-frame.tsx'
import { WebhookTable } from './webhook-table.tsx'

/** The webhooks page, for leads. */
export function WebhooksPage() {
  const isLead = useCan('LeadDataEngineer')
  if (isLead) return <Webhooks />
  const { title, text } = settingsStrings.leadOnly.webhooks
  return (
    <SettingsFrame tab="webhooks">
      <Empty title={title} detail={text} />
    </SettingsFrame>
  )
}

function Webhooks() {
  const [isOpen, setOpen] = useState(false)
  const [{ webhook }, changeSearch] = useSearchParams()
  const { data, error, isError, refetch } = useQuery(webhooksQuery)
  const chosen = data?.find(({ id }) => id === webhook)
  return (
    <SettingsFrame
      tab="webhooks"
      lead={strings.lead}
      actions={<Button onClick={() => setOpen(true)}>{strings.create}</Button>}
    >
      {!data && isError ? <ErrorState error={error} onRetry={() => void refetch()} /> : undefined}
      {!data && !isError ? <Loading /> : undefined}
      {data?.length === 0 ? <Empty title={strings.empty.title} detail={strings.empty.text} /> : undefined}
      {data && data.length > 0 ? (
        <WebhookTable
          webhooks={data}
          selected={chosen?.id}
          onSelect={(id) => changeSearch({ webhook: id === webhook ? undefined : id })}
        />
      ) : undefined}
      {chosen ? <Deliveries webhook={chosen} /> : undefined}
      <NewWebhook opened={isOpen} onClose={() => setOpen(false)} />
    </SettingsFrame>
  )
}
