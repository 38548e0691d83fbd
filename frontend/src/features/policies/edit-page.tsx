import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import type { Role } from '../../api/types.ts'
import { Page } from '../../components/page/page.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { ErrorState, Forbidden, Loading } from '../../components/status/states.tsx'
import { managedNotice } from '../../strings/everywhere/managed.ts'
import { policies, policyForm as words } from '../../strings/policies.ts'
import { policyQuery } from './api.ts'
import { isEditable } from './policy-dialogs.ts'
import { PolicyEditor } from './editor.tsx'

const LEAD: Role = 'LeadDataEngineer'
const editPage = getRouteApi('/policies/$id/edit')
const LIST = { label: policies.title, to: '/policies' }

/** The form of a new policy. */
export function NewPolicyPage() {
  const isLead = useCan('LeadDataEngineer')
  return (
    <Page title={words.newTitle} crumbs={[LIST]}>
      {isLead ? <PolicyEditor base={undefined} /> : <Forbidden role={LEAD} />}
    </Page>
  )
}

/** The form of a stored policy. */
export function EditPolicyPage() {
  const { id } = editPage.useParams()
  const isLead = useCan('LeadDataEngineer')
  const [opened, setOpened] = useState(0)
  const { data, error, isError, refetch } = useQuery({ ...policyQuery(id), refetchOnWindowFocus: false })
  const title = data === undefined ? policies.one : words.editTitle(data.name)
  return (
    <Page
      title={title}
      crumbs={[LIST, { label: data?.name ?? policies.one, to: `/policies/${encodeURIComponent(id)}` }]}
    >
      {!isLead && <Forbidden role={LEAD} />}
      {isLead && isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {isLead && !data && !isError && <Loading />}
      {isLead && data && !isEditable(data) && <Notice tone="info">{managedNotice(data)}</Notice>}
      {isLead && data && isEditable(data) && (
        <PolicyEditor
          key={opened}
          base={data}
          onReload={() => void refetch().then(() => setOpened((before) => before + 1))}
        />
      )}
    </Page>
  )
}
