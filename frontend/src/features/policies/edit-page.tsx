import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import type { Policy, Role } from '../../api/types.ts'
import { Page } from '../../components/page/page.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { ErrorState, Forbidden, Loading } from '../../components/status/states.tsx'
import { managedNotice } from '../../strings/everywhere/managed.ts'
import { policies, policyForm as words } from '../../strings/policies.ts'
import { policyQuery } from './api.ts'
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
      {isLead && data && <StoredPolicy policy={data} refetch={refetch} />}
    </Page>
  )
}

interface StoredPolicyProps {
  readonly policy: Policy
  readonly refetch: () => Promise<unknown>
}

function StoredPolicy({ policy, refetch }: StoredPolicyProps) {
  const [opened, setOpened] = useState(0)
  const reload = async (): Promise<void> => {
    await refetch()
    setOpened((before) => before + 1)
  }
  const notice = managedNotice(policy)
  if (notice !== undefined) return <Notice tone="info">{notice}</Notice>
  return <PolicyEditor key={opened} base={policy} onReload={() => void reload()} />
}
