import type { ReactNode } from 'react'
import { RelativeTime } from '../../time/relative-time.tsx'
import { approvalStrings } from '../../strings/approvals.ts'
import { progressOf, type RequestView } from './request-view.ts'
import classes from './approvals.module.css'

const strings = approvalStrings.facts

interface FactsProps {
  readonly view: RequestView
}

/** How many approvals a request has, who gave them and who still may, what it waits for, and who did not wait. */
export function ApprovalFacts({ view }: FactsProps) {
  return (
    <>
      <GivenApprovals view={view} />
      <Times view={view} />
      <Override view={view} />
    </>
  )
}

function GivenApprovals({ view }: FactsProps) {
  const { approvals = [], may_decide: deciders } = view
  const progress = progressOf(view)
  const known = view.status === 'pending' ? (deciders?.known_users ?? []) : []
  return (
    <>
      {progress && <Fact name={strings.approvals}>{strings.progress(progress.given, progress.required)}</Fact>}
      {approvals.length > 0 && (
        <Fact name={strings.approvedBy}>
          {approvals.map(({ user, approved_at: at, counts }) => (
            <div key={user}>
              {user} <RelativeTime at={at} /> {!counts && strings.notCounted}
            </div>
          ))}
        </Fact>
      )}
      {known.length > 0 && <Fact name={strings.mayApprove}>{strings.users(known)}</Fact>}
    </>
  )
}

function Times({ view: { status, opens_at: opens, expires_at: expires } }: FactsProps) {
  return (
    <>
      {status === 'waiting_for_window' && (
        <Fact name={strings.opens}>{opens ? <RelativeTime at={opens} /> : strings.noOpening}</Fact>
      )}
      {expires && (
        <Fact name={strings.expires}>
          <RelativeTime at={expires} />
        </Fact>
      )}
    </>
  )
}

function Override({ view: { override } }: FactsProps) {
  if (!override) return undefined
  return (
    <Fact name={strings.override}>
      {override.by} <RelativeTime at={override.at} />
      <div className={classes.reason}>{override.reason}</div>
    </Fact>
  )
}

/** A line of the list of facts. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}
