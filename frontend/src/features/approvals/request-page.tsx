import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { isMissing } from '../../api/api-error.ts'
import { useCan, useMe } from '../../api/session.ts'
import type { ApprovalRequestDetail } from '../../api/types.ts'
import { Page } from '../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { useSearchParams } from '../../use-search-params.ts'
import { approvalStrings as strings } from '../../strings/approvals.ts'
import { knownRequestsQuery, requestQuery, useLiveApprovals, versionChangeQuery } from './api.ts'
import { ApprovalsForbidden } from './approvals-forbidden.tsx'
import { ChangeSection } from './change-section.tsx'
import { CommentsSection } from './comments-section.tsx'
import { DecisionActions, type DecisionProblem, ProblemNotice } from './decision-actions.tsx'
import { DeploymentSection } from './deployment/deployment-section.tsx'
import { RehearsalSection } from './deployment/rehearsal-section.tsx'
import { RequestFacts } from './request-facts.tsx'
import { RequestStatus } from './request-status.tsx'
import { isOpen, type RequestView, viewOfDetail, viewOfKnown } from './request-view.ts'
import { SnapshotSection } from './snapshot-section.tsx'
import classes from './approvals.module.css'

const CRUMBS = [{ label: strings.title, to: '/approvals' }]

/** An approval request: its version and environments, the changes, the comments and the possible decisions. */
export function RequestPage() {
  const { id = '' } = useParams({ strict: false })
  const isLead = useCan('LeadDataEngineer')
  const isEngineer = useCan('DataEngineer')
  useLiveApprovals()
  if (isLead) return <LeadRequest id={id} />
  return isEngineer ? <KnownRequestPage id={id} /> : <ApprovalsForbidden />
}

function LeadRequest({ id }: { readonly id: string }) {
  const { data, error, isPending, refetch } = useQuery(requestQuery(id))
  if (data) return <LoadedRequest view={viewOfDetail(data.request)} tag={data.tag} detail={data.request} />
  return <RequestFrame isPending={isPending} error={error} onRetry={() => void refetch()} />
}

/** The page for engineers, who cannot read the request itself: built from the event log and the version. */
function KnownRequestPage({ id }: { readonly id: string }) {
  const known = useQuery(knownRequestsQuery)
  const request = known.data?.get(id)
  const change = useQuery({
    ...versionChangeQuery(request ?? { id, definition_id: '', version_id: '', to_environment: 'uat' }),
    enabled: request !== undefined,
  })
  if (request && change.data) return <LoadedRequest view={viewOfKnown(request, change.data)} tag={null} />
  if (known.data && !request) return <RequestFrame isPending={false} error={undefined} onRetry={undefined} />
  const failed = known.isError ? known : change
  return <RequestFrame isPending={!failed.isError} error={failed.error} onRetry={() => void failed.refetch()} />
}

interface RequestFrameProps {
  readonly isPending: boolean
  readonly error: unknown
  readonly onRetry: (() => void) | undefined
}

function RequestFrame({ isPending, error, onRetry }: RequestFrameProps) {
  const isGone = !isPending && (!error || isMissing(error))
  return (
    <Page title={strings.request} crumbs={CRUMBS}>
      {isPending ? <Loading /> : undefined}
      {isGone ? (
        <Empty
          title={strings.notFound.title}
          detail={strings.notFound.text}
          action={<Link to="/approvals">{strings.notFound.link}</Link>}
        />
      ) : undefined}
      {isPending || isGone ? undefined : <ErrorState error={error} {...(onRetry ? { onRetry } : {})} />}
    </Page>
  )
}

interface LoadedRequestProps {
  readonly view: RequestView
  readonly tag: string | null
  /** The request, for leads. */
  readonly detail?: ApprovalRequestDetail
}

function LoadedRequest({ view, tag, detail }: LoadedRequestProps) {
  const me = useMe()
  const [{ node }, changeSearch] = useSearchParams()
  const [problem, setProblem] = useState<DecisionProblem>()
  const hasRest = useDeferredValue(true, false) // rendered after the decision buttons
  const select = (id: string | undefined): void => changeSearch({ node: id })
  const { from_environment: from, to_environment: to } = view
  return (
    <Page
      title={strings.requestTitle(view.definition_name, view.version)}
      crumbs={CRUMBS}
      aside={<RequestStatus request={view} />}
      lead={strings.asksToMove(view.requested_by, from, to)}
      actions={<DecisionActions view={view} tag={tag} onProblem={setProblem} />}
    >
      {problem ? <ProblemNotice problem={problem} onClose={() => setProblem(undefined)} /> : undefined}
      <div className={classes.layout}>
        <RequestFacts view={view} />
        <div className={classes.sections}>
          <ChangeSection view={view} selected={node} onSelect={select} />
          {hasRest && detail !== undefined && isOpen(detail) && (
            <DeploymentSection
              deploys={detail.deploys}
              unavailable={detail.deploys_unavailable}
              comparedId={view.diff.from?.id}
              request={view}
            />
          )}
          {hasRest && isOpen(view) && (detail !== undefined || view.requested_by === me?.user) && (
            <RehearsalSection request={view} />
          )}
        </div>
        {hasRest && (
          <>
            <SnapshotSection view={view} selected={node} />
            <CommentsSection requestId={view.id} />
          </>
        )}
      </div>
    </Page>
  )
}
