import { Button, Group, Progress } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { api } from '../../api/client.ts'
import { readEventStream } from '../../api/event-stream.ts'
import { useCan } from '../../api/session.ts'
import type { Operation } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { operations as words } from '../../strings/everywhere/common.ts'
import classes from './operation-progress.module.css'
import { ErrorState, errorText } from './states.tsx'
import { formatBytes, formatCount, formatDuration } from '../../strings/everywhere/units.ts'

export interface WatchedOperation {
  /** The latest progress; undefined before the first event. */
  readonly operation: Operation | undefined
  /** Whether updates arrive; false while reconnecting. */
  readonly connected: boolean
  readonly error: unknown
}

/** Follows an operation until it has ended, by its stream of events. */
export function useOperation(operationId: string | undefined): WatchedOperation {
  const [watched, setWatched] = useState<WatchedOperation>(NOTHING)
  useEffect(() => {
    setWatched(NOTHING)
    if (operationId === undefined) return undefined
    const stop = new AbortController()
    const change = (part: Partial<WatchedOperation>): void => setWatched((before) => ({ ...before, ...part }))
    readEventStream(`/api/operations/${encodeURIComponent(operationId)}/events`, {
      signal: stop.signal,
      onConnection: (connected) => change({ connected }),
      onEvent: ({ event, data }) => {
        if (event === 'operation') change({ operation: JSON.parse(data) as Operation })
      },
    }).catch((error: unknown) => change({ error }))
    return () => stop.abort()
  }, [operationId])
  return watched
}

const NOTHING: WatchedOperation = { operation: undefined, connected: true, error: undefined }

export interface OperationProgressProps {
  readonly operationId: string
  /** Called once, when the operation has ended in any way. */
  readonly onEnd?: (operation: Operation) => void
}

/** A running operation: progress, duration and a cancel button. */
export function OperationProgress({ operationId, onEnd }: OperationProgressProps) {
  const { operation, connected, error } = useOperation(operationId)
  const ended = useRef(false)
  useEffect(() => {
    if (operation === undefined || operation.state === 'running' || ended.current) return
    ended.current = true
    onEnd?.(operation)
  }, [operation, onEnd])
  if (error !== undefined) return <ErrorState error={error} />
  const { share, text } = describeProgress(operation)
  const name = words.names[operation?.operation ?? ''] ?? operation?.operation ?? ''
  return (
    <div className={classes.progress}>
      <Progress.Root size="sm">
        <Progress.Section value={Math.max(2, share * 100)} aria-label={words.progress(name)} animated />
      </Progress.Root>
      <div className={classes.line} role="status">
        <span>{connected ? text : words.reconnecting}</span>
        <Elapsed since={operation?.created_at} running={operation?.state === 'running'} />
      </div>
      {operation?.state === 'running' && <CancelButton operationId={operationId} />}
    </div>
  )
}

function describeProgress(operation: Operation | undefined): { readonly share: number; readonly text: string } {
  if (operation === undefined) return { share: 0, text: words.starting }
  if (operation.state !== 'running') return { share: 1, text: words.states[operation.state] }
  const { progress } = operation
  if (progress === null || progress.files_total === 0) return { share: 0, text: words.starting }
  const share = progress.bytes_total > 0 ? progress.bytes_done / progress.bytes_total : 0
  if (progress.files_done >= progress.files_total) return { share: 1, text: words.committing }
  const files = words.filesDone(formatCount(progress.files_done), formatCount(progress.files_total))
  const bytes = words.bytesDone(formatBytes(progress.bytes_done), formatBytes(progress.bytes_total))
  return { share: Math.min(1, share), text: `${files}, ${bytes}` }
}

function Elapsed({ since, running }: { readonly since: string | undefined; readonly running: boolean }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (!running) return undefined
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [running])
  if (since === undefined || !running) return null
  const elapsed = Math.max(0, now - Date.parse(since))
  return <span aria-hidden="true">{words.elapsed(formatDuration(Math.floor(elapsed / 1000) * 1000))}</span>
}

function CancelButton({ operationId }: { readonly operationId: string }) {
  const canCancel = useCan('DataEngineer')
  const cancel = useAction({
    send: () => api.del<Operation>(`/api/operations/${encodeURIComponent(operationId)}`),
  })
  if (!canCancel) return null
  return (
    <Group gap="xs">
      <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
        {words.cancel}
      </Button>
      {cancel.isError && <span role="alert">{errorText(cancel.error)}</span>}
    </Group>
  )
}
