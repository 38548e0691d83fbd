import { Button, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type RefObject, useEffect, useState } from 'react'
import { api } from '../../../api/client.ts'
import { queryClient } from '../../../api/query-client.ts'
import { refresh } from '../../../api/actions/refresh.ts'
import type { Operation } from '../../../api/types.ts'
import { CompactionNotes } from '../../../components/compaction-notes.tsx'
import { EngineChoice } from '../../../components/engine-choice.tsx'
import { Notice } from '../../../components/status/notice.tsx'
import { OperationProgress } from '../../../components/status/operation-progress.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { formatDuration } from '../../../strings/everywhere/units.ts'
import { operationStrings } from '../../../strings/operations.ts'
import { actions as words } from '../../../strings/table-actions.ts'
import { forgetTable } from '../api.ts'
import classes from './action-drawer.module.css'
import { compareHealth, type Details, isDetails } from './action-figures.ts'
import { isActionKind } from './action-specs.ts'
import { useFocusAtStep } from './drawer-focus.ts'
import { ColumnSpecifics, DetailFigures } from './preview-view.tsx'

const verdicts = operationStrings.detail

export interface OperationOutcomeProps {
  readonly drawer: RefObject<HTMLElement | null>
  readonly table: string
  readonly operationId: string
  /** Goes back to the preview of the same request, after it failed or was cancelled. */
  readonly onAgain: (request: Details) => void
  readonly onClose: () => void
}

type EndHandlers = Pick<OperationOutcomeProps, 'onAgain' | 'onClose'>

/** An operation while it runs and after: progress, then health before and after. */
export function OperationOutcome({ drawer, table, operationId, onAgain, onClose }: OperationOutcomeProps) {
  const first = useQuery({
    queryKey: ['operation', operationId, 'outcome'],
    queryFn: ({ signal }) => api.get<Operation>(`/api/operations/${encodeURIComponent(operationId)}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const [ended, setEnded] = useState<Operation>()
  const state = (ended ?? first.data)?.state
  useFocusAtStep(drawer, state ?? 'unread')
  useForgetAtEnd(table, state !== undefined && state !== 'running')
  if (first.isPending) return <Loading lines={3} />
  if (first.isError) return <ErrorState error={first.error} onRetry={() => void first.refetch()} />
  const operation = ended ?? first.data
  return (
    <Stack gap="sm">
      {operation.state === 'running' ? (
        <OperationProgress
          operationId={operationId}
          onEnd={(last) => {
            setEnded(last)
            queryClient.setQueryData(['operation', operationId, 'outcome'], last)
          }}
        />
      ) : (
        <Outcome operation={operation} />
      )}
      <div className={classes.buttons}>
        <Button
          variant="default"
          renderRoot={(props) => <Link {...props} to="/operations/$id" params={{ id: operationId }} />}
        >
          {words.operation}
        </Button>
        <EndButton operation={operation} onAgain={onAgain} onClose={onClose} />
      </div>
    </Stack>
  )
}

/** Reloads everything about a table after an operation, including operations that end before the page follows them. */
function useForgetAtEnd(table: string, hasEnded: boolean): void {
  useEffect(() => {
    if (!hasEnded) return
    void forgetTable(table)
    void refresh('tables')
  }, [table, hasEnded])
}

function EndButton({ operation, onAgain, onClose }: { readonly operation: Operation } & EndHandlers) {
  const { state, request } = operation
  if (state === 'running') return null
  const failed = state === 'failed' || state === 'cancelled'
  if (failed && isDetails(request)) return <Button onClick={() => onAgain(request)}>{words.previewAgain}</Button>
  return <Button onClick={onClose}>{words.done}</Button>
}

function Outcome({ operation }: { readonly operation: Operation }) {
  const kind = operation.operation
  return (
    <>
      <OutcomeLine operation={operation} />
      <EngineChoice details={operation.result} />
      {kind === 'compact' && <CompactionNotes table={operation.table} result={operation.result} />}
      {isDetails(operation.health_before) && isDetails(operation.health_after) && (
        <BeforeAfter before={operation.health_before} after={operation.health_after} />
      )}
      {isActionKind(kind) && isDetails(operation.result) && (
        <>
          <DetailFigures kind={kind} details={operation.result} />
          <ColumnSpecifics details={operation.result} />
        </>
      )}
    </>
  )
}

function OutcomeLine({ operation }: { readonly operation: Operation }) {
  const { state, error, duration_ms } = operation
  if (state === 'succeeded') {
    return <Notice tone="ok">{words.succeeded(formatDuration(duration_ms ?? 0))}</Notice>
  }
  const stale = error?.code === 'PLAN_STALE'
  const text = { running: '', failed: words.failed, cancelled: words.cancelled, unknown: words.unknown }[state]
  return (
    <Notice tone={state === 'failed' && !stale ? 'bad' : 'warn'} role="alert">
      {stale ? words.stale : text}
      {error !== null && !stale && <div>{error.message}</div>}
    </Notice>
  )
}

interface BeforeAfterProps {
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
}

/** Health before and after an operation, figure by figure. */
export function BeforeAfter({ before, after }: BeforeAfterProps) {
  const rows = compareHealth(before, after)
  if (!rows.some(({ changed }) => changed)) return null
  return (
    <table className={classes.compare}>
      <thead>
        <tr>
          <th scope="col">{words.measure}</th>
          <th scope="col">{words.before}</th>
          <th scope="col">{words.after}</th>
          <th scope="col">{words.change}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name} className={row.changed ? undefined : classes.unchanged}>
            <th scope="row">{row.label}</th>
            <td>{row.before}</td>
            <td>{row.after}</td>
            <td className={row.better === undefined ? undefined : classes[row.better ? 'better' : 'worse']}>
              {row.delta} {row.better !== undefined && verdicts[row.better ? 'better' : 'worse']}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
