import { Link } from '@tanstack/react-router'
import { useCan, useMe } from '../../api/session.ts'
import { ApprovalFacts, Fact } from './approval-facts.tsx'
import { Copyable } from '../../components/text/copyable.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { approvalStrings } from '../../strings/approvals.ts'
import { missingApprovals, type RequestView } from './request-view.ts'
import classes from './approvals.module.css'

const strings = approvalStrings.facts

/** Requester, approver and content hash of a request. */
export function RequestFacts({ view }: { readonly view: RequestView }) {
  const { snapshot } = view
  return (
    <aside className={`${classes.side} ${classes.section}`}>
      <dl className={classes.facts}>
        <Fact name={strings.move}>{approvalStrings.move(view.from_environment, view.to_environment)}</Fact>
        <Fact name={strings.definition}>
          <Link to="/definitions/$id" params={{ id: view.definition_id }} search={{ version: view.version_id }}>
            {approvalStrings.requestTitle(view.definition_name, view.version)}
          </Link>
        </Fact>
        <Fact name={strings.requestedBy}>{view.requested_by}</Fact>
        <Fact name={strings.requestedAt}>
          <RelativeTime at={view.requested_at} />
        </Fact>
        <ApprovalFacts view={view} />
        {view.decided_at === null ? undefined : (
          <>
            <Fact name={strings.decidedBy}>{view.decided_by ?? strings.service}</Fact>
            <Fact name={strings.decidedAt}>
              <RelativeTime at={view.decided_at} />
            </Fact>
          </>
        )}
        {view.reason === null || view.isWithdrawn ? undefined : (
          <Fact name={strings.reason}>
            <span className={classes.reason}>{view.reason}</span>
          </Fact>
        )}
        <Fact name={strings.created}>
          {snapshot.created_by}, <RelativeTime at={snapshot.created_at} />
        </Fact>
        <Fact name={strings.content}>
          <Copyable
            text={snapshot.content_hash}
            shown={snapshot.content_hash.slice(0, 12)}
            what={strings.contentHash}
          />
        </Fact>
      </dl>
      <Hint view={view} />
    </aside>
  )
}

/** What the user can do about the request, in one line. */
function Hint({ view }: { readonly view: RequestView }) {
  const me = useMe()
  const isLead = useCan('LeadDataEngineer')
  if (view.status === 'waiting_for_window') return <p className={classes.hint}>{approvalStrings.decide.waits}</p>
  if (view.status !== 'pending') return undefined
  const { decide } = approvalStrings
  const own = view.requested_by === me?.user ? [decide.own] : []
  const lines = isLead
    ? [decide.hint(view.to_environment, missingApprovals(view)), ...own]
    : [decide.leadOnly, ...(own.length > 0 ? [decide.canWithdraw] : [])]
  return <p className={classes.hint}>{lines.join(' ')}</p>
}
