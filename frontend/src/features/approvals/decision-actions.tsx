import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { useCan, useMe } from '../../api/session.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { approvalStrings } from '../../strings/approvals.ts'
import { decide, type Decision } from './api.ts'
import { DecisionDialog } from './decision-dialogs.tsx'
import { isOpen, type RequestView } from './request-view.ts'
import { Notice } from '../../components/status/notice.tsx'

const strings = approvalStrings.decide
const { problems } = approvalStrings

/** A refusal of a decision that the page explains. */
export type DecisionProblem = Exclude<keyof typeof problems, 'openAudit'>

interface DecisionActionsProps {
  readonly view: RequestView
  readonly tag: string | null
  /** Reports why a decision failed; undefined when a new one starts. */
  readonly onProblem: (problem: DecisionProblem | undefined) => void
}

/** What the reader may do with an open request. */
export function DecisionActions({ view, tag, onProblem }: DecisionActionsProps) {
  const me = useMe()
  const isLead = useCan('LeadDataEngineer')
  const [kind, setKind] = useState<Decision['kind']>()
  const [seenTag, setSeenTag] = useState(tag) // the state when the dialog was opened; live updates do not change it
  const work = useAction({
    send: (decision: Decision) => decide(view.id, decision, seenTag),
    changes: ['approvals'],
    onDone: () => setKind(undefined),
    onError: (error) => {
      const known = knownProblem(error)
      if (known === undefined) return
      onProblem(known)
      setKind(undefined)
    },
  })
  const open = (next: Decision['kind']): void => {
    work.reset()
    onProblem(undefined)
    setSeenTag(tag)
    setKind(next)
  }
  const isPending = view.status === 'pending'
  const mayApprove = isPending && view.may_decide?.except.every(({ user }) => user !== me?.user)
  return (
    <>
      {isOpen(view) && view.requested_by === me?.user ? (
        <Button variant="default" onClick={() => open('withdraw')}>
          {strings.withdraw}
        </Button>
      ) : undefined}
      {isOpen(view) && isLead ? (
        <>
          <Button variant="default" onClick={() => open('reject')}>
            {strings.reject}
          </Button>
          {mayApprove ? <Button onClick={() => open('approve')}>{strings.approve}</Button> : undefined}
          {isPending ? undefined : <Button onClick={() => open('override')}>{strings.override}</Button>}
        </>
      ) : undefined}
      <DecisionDialog
        view={view}
        kind={kind}
        action={work}
        onClose={() => setKind(undefined)}
        onDecide={(decision) => work.mutate(decision)}
      />
    </>
  )
}

function knownProblem(error: unknown): DecisionProblem | undefined {
  if (!(error instanceof ApiError) || error.code === 'openAudit') return undefined
  return error.code in problems ? (error.code as DecisionProblem) : undefined
}

interface ProblemNoticeProps {
  readonly problem: DecisionProblem
  readonly onClose: () => void
}

/** Why a decision failed, and what to do now. */
export function ProblemNotice({ problem, onClose }: ProblemNoticeProps) {
  const { title, text } = problems[problem]
  return (
    <Notice tone={problem === 'CONTENT_CHANGED' ? 'bad' : 'warn'} title={title} role="alert" onClose={onClose}>
      {text}
      {problem === 'CONTENT_CHANGED' ? (
        <>
          {' '}
          <Link to="/audit">{problems.openAudit}</Link>
        </>
      ) : undefined}
    </Notice>
  )
}
