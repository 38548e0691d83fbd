import { Title } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { isMissing } from '../../api/api-error.ts'
import { useCan } from '../../api/session.ts'
import type { Operation } from '../../api/types.ts'
import { Notice } from '../../components/status/notice.tsx'
import { CompactionNotes } from '../../components/compaction-notes.tsx'
import { EngineChoice } from '../../components/engine-choice.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { Figure, FigureRow } from '../../components/status/figure.tsx'
import { useOperation } from '../../components/status/operation-progress.tsx'
import { Page } from '../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { operationStrings as strings } from '../../strings/operations.ts'
import { CancelOperation } from './cancel-operation.tsx'
import { HealthTable } from './health-table.tsx'
import { LiveProgress } from './live-progress.tsx'
import { OperationFacts } from './operation-facts.tsx'
import { formatFigure } from './format-figure.ts'
import { figureName, operationName, STATE_TONES } from './operation-words.ts'
import { ReceiptSection } from './receipt-section.tsx'
import { humanKey, rollbackTarget, viewResult } from './result-figures.ts'
import classes from './operations.module.css'
import { useSeenOperations } from './seen.ts'

const CRUMBS = [{ label: strings.title, to: '/operations' }]

/** An operation: live progress, then its result. */
export function OperationPage() {
  const { id = '' } = useParams({ strict: false })
  const { operation, connected, error } = useOperation(id)
  useMarkedSeen(operation)
  if (operation) return <LoadedOperation operation={operation} connected={connected} />
  const isGone = isMissing(error)
  return (
    <Page title={strings.one} crumbs={CRUMBS}>
      {error === undefined ? <Loading /> : undefined}
      {isGone ? (
        <Empty
          title={strings.notFound.title}
          detail={strings.notFound.text}
          action={<Link to="/operations">{strings.notFound.link}</Link>}
        />
      ) : undefined}
      {error !== undefined && !isGone ? <ErrorState error={error} /> : undefined}
    </Page>
  )
}

/** A failed operation that was looked at leaves the inbox. */
function useMarkedSeen(operation: Operation | undefined): void {
  const { markSeen } = useSeenOperations()
  const hasFailed = operation?.state === 'failed' || operation?.state === 'unknown'
  const id = hasFailed ? operation.id : undefined
  useEffect(() => {
    if (id !== undefined) markSeen([id])
  }, [id, markSeen])
}

interface LoadedOperationProps {
  readonly operation: Operation
  readonly connected: boolean
}

function LoadedOperation({ operation, connected }: LoadedOperationProps) {
  const canCancel = useCan('DataEngineer')
  const isLead = useCan('LeadDataEngineer')
  const { state, table } = operation
  const isRunning = state === 'running'
  return (
    <Page
      title={operationName(operation.operation)}
      crumbs={CRUMBS}
      aside={<StatusDot tone={STATE_TONES[state]} label={strings.states[state]} />}
      lead={
        <Link to="/tables/$table" params={{ table }}>
          {table}
        </Link>
      }
      actions={isRunning && canCancel ? <CancelOperation operation={operation} /> : undefined}
    >
      {state === 'unknown' ? <Notice tone="warn">{strings.stateHelp.unknown}</Notice> : undefined}
      {isRunning ? <LiveProgress operation={operation} connected={connected} /> : undefined}
      {state === 'cancelled' ? <Notice tone="info">{strings.stateHelp.cancelled}</Notice> : undefined}
      {operation.error && state !== 'cancelled' ? (
        <Notice tone="bad" title={strings.detail.error}>
          {operation.error.message} <span className={classes.code}>{operation.error.code}</span>
          <RollbackLink operation={operation} />
        </Notice>
      ) : undefined}
      {operation.operation === 'compact' && <CompactionNotes table={table} result={operation.result} />}
      <OperationResult operation={operation} />
      {operation.receipt !== null && <ReceiptSection receipt={operation.receipt} />}
      <div className={classes.columns}>
        <HealthTable before={operation.health_before} after={operation.health_after} />
        <section className={classes.section}>
          <Title order={2}>{strings.detail.facts}</Title>
          <OperationFacts operation={operation} hasAudit={isLead} />
        </section>
      </div>
      <section className={classes.section}>
        <Title order={2}>{strings.detail.request}</Title>
        <CodeBlock code={JSON.stringify(operation.request, null, 2)} label={strings.detail.request} />
      </section>
    </Page>
  )
}

/** The way back from a snapshot that must not stay; nothing for other failures. */
function RollbackLink({ operation: { table, result } }: { readonly operation: Operation }) {
  const target = rollbackTarget(result)
  if (target === undefined) return null
  return (
    <div>
      <Link to="/tables/$table" params={{ table }} search={{ action: 'rollback', target }}>
        {strings.detail.rollback(target)}
      </Link>
    </div>
  )
}

function OperationResult({ operation: { result, state } }: { readonly operation: Operation }) {
  const { figures, parts } = viewResult(result)
  if (figures.length === 0 && parts.length === 0) {
    return state === 'succeeded' ? <p className={classes.dimmed}>{strings.detail.noResult}</p> : undefined
  }
  const zeros = figures.filter(({ value }) => value === 0).map(({ key }) => figureName(key).toLowerCase())
  return (
    <section className={classes.section}>
      <Title order={2}>{strings.detail.result}</Title>
      <EngineChoice details={result} />
      <FigureRow>
        {figures
          .filter(({ value }) => value !== 0)
          .map(({ key, kind, value }) => (
            <Figure key={key} label={figureName(key)} value={formatFigure(kind, value)} />
          ))}
      </FigureRow>
      {zeros.length > 0 ? <p className={classes.dimmed}>{strings.detail.zeros(zeros)}</p> : undefined}
      {parts.map(({ key, value }) => (
        <details key={key}>
          <summary>{key === '' ? strings.detail.raw : humanKey(key)}</summary>
          <CodeBlock code={JSON.stringify(value, null, 2)} label={humanKey(key)} />
        </details>
      ))}
    </section>
  )
}
