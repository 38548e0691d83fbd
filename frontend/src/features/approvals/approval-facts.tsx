import { RelativeTime } from '../../time/relative-time.tsx'
import { approvalStrings } from '../../strings/approvals.ts'
import type { RequestView } from './request-view.ts'
import classes from './approvals.module.css'

const strings = approvalStrings.facts

/** How many approvals a request has, who gave them and who still may, what it waits for, and who did not wait. */
export function ApprovalFacts({ view }: { readonly view: RequestView }) {
  const { approvals_given: given, approvals_required: required = null, approvals = [], override } = view
  const deciders = view.may_decide?.known_users ?? []
  return (
    <>
      {required !== null && required > 0 && (
        <>
          <dt>{strings.approvals}</dt>
          <dd>{strings.progress(given, required)}</dd>
        </>
      )}
      {approvals.length > 0 && (
        <>
          <dt>{strings.approvedBy}</dt>
          <dd>
            {approvals.map(({ user, approved_at: at, counts }) => (
              <div key={user}>
                {user} <RelativeTime at={at} /> {!counts && strings.notCounted}
              </div>
            ))}
          </dd>
        </>
      )}
      {view.status === 'pending' && deciders.length > 0 && (
        <>
          <dt>{strings.mayApprove}</dt>
          <dd>{strings.users(deciders)}</dd>
        </>
      )}
      {view.status === 'waiting_for_window' && (
        <>
          <dt>{strings.opens}</dt>
          <dd>{view.opens_at === null ? strings.noOpening : <RelativeTime at={view.opens_at} />}</dd>
        </>
      )}
      {(view.expires_at ?? null) !== null && (
        <>
          <dt>{strings.expires}</dt>
          <dd>
            <RelativeTime at={view.expires_at} />
          </dd>
        </>
      )}
      {override && (
        <>
          <dt>{strings.override}</dt>
          <dd>
            {override.by} <RelativeTime at={override.at} />
            <div className={classes.reason}>{override.reason}</div>
          </dd>
        </>
      )}
    </>
  )
}
