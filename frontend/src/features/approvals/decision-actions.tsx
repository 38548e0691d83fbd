import { Alert, Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { useCan, useMe } from '../../api/session.ts'
import { approvalStrings } from '../../strings/approvals.ts'
import { decide, type Decision } from './api.ts'
import { DecisionDialog } from './decision-dialogs.tsx'
import type { RequestView } from './request-view.ts'
import classes from './approvals.module.css'

const strings = approvalStrings.decide
const { problems } = approvalStrings

type KnownProblem = Exclude<keyof typeof problems, 'close' | 'openAudit'>

interface DecisionActionsProps {
  readonly view: RequestView
  readonly tag: string | null
}

/** What the reader may do with a pending request; what stands in the way afterwards stays until it is closed. */
export function DecisionActions({ view, tag }: DecisionActionsProps) {
  const client = useQueryClient()
  const me = useMe()
  const isLead = useCan('LeadDataEngineer')
  const [kind, setKind] = useState<Decision['kind']>()
  const [problem, setProblem] = useState<KnownProblem>()
  const work = useMutation({
    mutationFn: (decision: Decision) => decide(view.id, decision, tag),
    onSuccess: () => setKind(undefined),
    onError: (error) => {
      const known = knownProblem(error)
      if (known === undefined) return
      setProblem(known)
      setKind(undefined)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['approvals'] }),
  })
  const open = (next: Decision['kind']): void => {
    work.reset()
    setProblem(undefined)
    setKind(next)
  }
  const isPending = view.status === 'pending'
  return (
    <>
      {isPending && view.requested_by === me?.user ? (
        <Button variant="default" onClick={() => open('withdraw')}>
          {strings.withdraw}
        </Button>
      ) : undefined}
      {isPending && isLead ? (
        <>
          <Button variant="default" onClick={() => open('reject')}>
            {strings.reject}
          </Button>
          <Button onClick={() => open('approve')}>{strings.approve}</Button>
        </>
      ) : undefined}
      <DecisionDialog
        view={view}
        kind={kind}
        isBusy={work.isPending}
        error={work.error}
        onClose={() => setKind(undefined)}
        onDecide={(decision) => work.mutate(decision)}
      />
      {problem === undefined ? undefined : <ProblemNotice problem={problem} onClose={() => setProblem(undefined)} />}
    </>
  )
}

function knownProblem(error: unknown): KnownProblem | undefined {
  if (!(error instanceof ApiError) || error.code === 'close' || error.code === 'openAudit') return undefined
  return error.code in problems ? (error.code as KnownProblem) : undefined
}

function ProblemNotice({ problem, onClose }: { readonly problem: KnownProblem; readonly onClose: () => void }) {
  const { title, text } = problems[problem]
  return (
    <Alert
      className={classes.problem}
      color={problem === 'CONTENT_CHANGED' ? 'red' : 'yellow'}
      title={title}
      role="alert"
      withCloseButton
      closeButtonLabel={problems.close}
      onClose={onClose}
    >
      {text}
      {problem === 'CONTENT_CHANGED' ? (
        <>
          {' '}
          <Link to="/audit">{problems.openAudit}</Link>
        </>
      ) : undefined}
    </Alert>
  )
}
