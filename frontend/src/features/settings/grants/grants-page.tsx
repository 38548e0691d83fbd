import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useCan } from '../../../api/session.ts'
import type { Grant } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { grantStrings as strings, settingsStrings } from '../../../strings/settings.ts'
import { useDialog } from '../../../use-dialog.ts'
import { SettingsFrame } from '../settings-frame.tsx'
import { grantsQuery, saveGrants, type TaggedGrants } from './api.ts'
import { GrantDialog } from './grant-dialog.tsx'
import { type GrantRow, GrantTable } from './grant-table.tsx'

const DIALOGS = ['new'] as const

/** Grants on tables, for leads. */
export function GrantsPage() {
  const isLead = useCan('LeadDataEngineer')
  if (isLead) return <Grants />
  const { title, text } = settingsStrings.leadOnly.grants
  return (
    <SettingsFrame tab="grants">
      <Empty title={title} detail={text} />
    </SettingsFrame>
  )
}

function Grants() {
  const [dialog, openDialog] = useDialog(DIALOGS)
  const { data, error, isError, refetch } = useQuery(grantsQuery)
  return (
    <SettingsFrame
      tab="grants"
      lead={strings.lead}
      actions={<Button onClick={() => openDialog('new')}>{strings.create}</Button>}
    >
      {!data && isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!data && !isError && <Loading />}
      {data && <GrantList data={data} isAdding={dialog === 'new'} onAdded={() => openDialog(undefined)} />}
    </SettingsFrame>
  )
}

interface GrantListProps {
  readonly data: TaggedGrants
  readonly isAdding: boolean
  readonly onAdded: () => void
}

function GrantList({ data: { grants, tag }, isAdding, onAdded }: GrantListProps) {
  const [edited, setEdited] = useState<GrantRow>()
  const [removed, setRemoved] = useState<GrantRow>()
  const save = useAction({
    send: (changed: readonly Grant[]) => saveGrants({ grants: changed, tag }),
    changes: ['grants'],
    said: strings.saved,
    onDone: () => close(),
  })
  const close = (): void => {
    save.reset()
    setEdited(undefined)
    setRemoved(undefined)
    if (isAdding) onAdded()
  }
  return (
    <>
      {grants.length === 0 ? (
        <Empty title={strings.empty.title} detail={strings.empty.text} />
      ) : (
        <GrantTable grants={grants} onEdit={setEdited} onRemove={setRemoved} />
      )}
      <GrantDialog
        action={save}
        onClose={close}
        opened={isAdding}
        grant={undefined}
        onSubmit={(grant) => save.mutate([...grants, grant])}
      />
      <GrantDialog
        action={save}
        onClose={close}
        opened={edited !== undefined}
        grant={edited?.grant}
        onSubmit={(grant) => save.mutate(grants.map((old, at) => (at === edited?.at ? grant : old)))}
      />
      <ConfirmDialog
        opened={removed !== undefined}
        onClose={close}
        title={strings.removeTitle(removed?.grant.principal ?? '')}
        consequences={grants.length === 1 ? [strings.removeLast] : [strings.removeOne]}
        confirmLabel={strings.remove}
        destructive
        action={save}
        onConfirm={() => save.mutate(grants.filter((_, at) => at !== removed?.at))}
      />
    </>
  )
}
