import { Button, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useCan } from '../../api/session.ts'
import type { ApprovalRequest, Operation, Pipeline, Policy } from '../../api/types.ts'
import { Page } from '../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { inbox as words } from '../../strings/inbox.ts'
import { labels } from '../../strings/everywhere/labels.ts'
import { formatPlural } from '../../strings/everywhere/units.ts'
import { operationStrings } from '../../strings/operations.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { operationName, outcomeOf, STATE_TONES } from '../operations/operation-words.ts'
import { nameOf } from '../pipelines/live-cells.tsx'
import { PipelineState } from '../pipelines/pipeline-state.tsx'
import { isCut, MAX_OF_KIND } from './api.ts'
import classes from './inbox.module.css'
import { sizeOf, useInbox } from './use-inbox.ts'

/** What needs the user, by kind; the lists behind it have everything. */
export function InboxPage() {
  const canAct = useCan('DataEngineer')
  return (
    <Page title={labels.inbox} lead={words.lead}>
      {canAct ? <Entries /> : <Forbidden />}
    </Page>
  )
}

function Forbidden() {
  const { title, text, link } = words.forbidden
  return <Empty title={title} detail={text} action={<Link to="/operations">{link}</Link>} />
}

function Entries() {
  const { inbox, error, refetch, markSeen } = useInbox()
  if (inbox === undefined) return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <Loading />
  if (sizeOf(inbox) === 0) return <Empty title={words.empty.title} detail={words.empty.text} />
  return (
    <div className={classes.sections}>
      <Approvals requests={inbox.approvals} />
      <Pipelines pipelines={inbox.pipelines} />
      <Operations operations={inbox.operations} onSeen={markSeen} />
      <Policies policies={inbox.policies} />
      {isCut(inbox) && <p className={classes.dim}>{words.cut(String(MAX_OF_KIND))}</p>}
    </div>
  )
}

interface SectionProps {
  readonly id: string
  readonly title: string
  readonly hint?: string
  readonly action?: ReactNode
  /** The link to the whole list. */
  readonly all: ReactNode
  readonly children: ReactNode
}

function Section({ id, title, hint, action, all, children }: SectionProps) {
  return (
    <section className={classes.section} aria-labelledby={`inbox-${id}`}>
      <div className={classes.head}>
        <Title order={2} id={`inbox-${id}`}>
          {title}
        </Title>
        {action}
      </div>
      {hint !== undefined && <p className={classes.dim}>{hint}</p>}
      <ul className={classes.lines}>{children}</ul>
      {all}
    </section>
  )
}

function Approvals({ requests }: { readonly requests: readonly ApprovalRequest[] }) {
  if (requests.length === 0) return null
  const { title, line, by, all } = words.approvals
  return (
    <Section id="approvals" title={title} all={<Link to="/approvals">{all}</Link>}>
      {requests.map(
        ({ id, definition_name: name, version, to_environment: to, requested_by: who, requested_at: at }) => (
          <li key={id}>
            <Link to="/approvals/$id" params={{ id }}>
              {line(name, version, to)}
            </Link>
            <span className={classes.dim}>{by(who)}</span>
            <span className={classes.dim}>
              <RelativeTime at={at} />
            </span>
          </li>
        ),
      )}
    </Section>
  )
}

function Pipelines({ pipelines }: { readonly pipelines: readonly Pipeline[] }) {
  if (pipelines.length === 0) return null
  const { title, all } = words.pipelines
  return (
    <Section id="pipelines" title={title} all={<Link to="/pipelines">{all}</Link>}>
      {pipelines.map((pipeline) => (
        <li key={pipeline.id}>
          <Link to="/pipelines/$id" params={{ id: pipeline.id }}>
            {nameOf(pipeline)}
          </Link>
          <span className={classes.dim}>{pipeline.error?.message}</span>
          <PipelineState state={pipeline.state} />
        </li>
      ))}
    </Section>
  )
}

interface OperationsProps {
  readonly operations: readonly Operation[]
  readonly onSeen: (ids: readonly string[]) => void
}

function Operations({ operations, onSeen }: OperationsProps) {
  if (operations.length === 0) return null
  const { title, hint, mark, markOne, markAll, all } = words.operations
  const seeAll = (
    <Button variant="default" size="compact-sm" onClick={() => onSeen(operations.map(({ id }) => id))}>
      {markAll}
    </Button>
  )
  const list = (
    <Link to="/operations" search={{ state: 'failed' } as never}>
      {all}
    </Link>
  )
  return (
    <Section id="operations" title={title} hint={hint} action={seeAll} all={list}>
      {operations.map((operation) => {
        const { id, operation: kind, table, state, created_at: at } = operation
        return (
          <li key={id}>
            <span>
              <Link to="/operations/$id" params={{ id }}>
                {operationName(kind)}
              </Link>{' '}
              {table}
            </span>
            <span className={classes.state}>
              <StatusDot tone={STATE_TONES[state]} label={operationStrings.states[state]} />
              <span>{outcomeOf(operation)}</span>
            </span>
            <span className={classes.end}>
              <span className={classes.dim}>
                <RelativeTime at={at} />
              </span>
              <Button
                variant="default"
                size="compact-xs"
                aria-label={markOne(operationName(kind), table)}
                onClick={() => onSeen([id])}
              >
                {mark}
              </Button>
            </span>
          </li>
        )
      })}
    </Section>
  )
}

function Policies({ policies }: { readonly policies: readonly Policy[] }) {
  if (policies.length === 0) return null
  const { title, line, all } = words.policies
  return (
    <Section id="policies" title={title} all={<Link to="/policies">{all}</Link>}>
      {policies.map(({ id, name, suspended_tables: count }) => (
        <li key={id}>
          <Link to="/policies/$id" params={{ id }}>
            {name}
          </Link>
          <span className={classes.dim}>{line(formatPlural(count, 'table'))}</span>
        </li>
      ))}
    </Section>
  )
}
