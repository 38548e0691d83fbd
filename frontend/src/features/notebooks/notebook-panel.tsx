import { Button, Group } from '@mantine/core'
import { Fragment, type ReactNode, useState } from 'react'
import { queryClient } from '../../api/query-client.ts'
import type { NotebookStatus } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { Notice } from '../../components/status/notice.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { ErrorNotice } from '../../components/status/error-notice.tsx'
import { StatusDot, type StatusTone } from '../../components/status/status-dot.tsx'
import { notebookStrings as strings } from '../../strings/notebooks.ts'
import { notebookQuery, startNotebook, stopNotebook } from './api.ts'
import classes from './notebooks.module.css'

const TONES: Readonly<Record<NotebookStatus['status'], StatusTone>> = {
  not_found: 'idle',
  pending: 'active',
  running: 'ok',
  failed: 'bad',
}

/** A notebook's state with its reason, and start, open and stop. */
export function NotebookPanel({ notebook }: { readonly notebook: NotebookStatus }) {
  const { status, reason } = notebook
  return (
    <div className={classes.panel}>
      <div role="status">
        <StatusDot tone={TONES[status]} label={strings.statuses[status]} />
        <p className={classes.help}>{strings.help[status]}</p>
      </div>
      {reason ? <Notice tone={status === 'failed' ? 'bad' : 'info'}>{reason}</Notice> : undefined}
      <Facts notebook={notebook} />
      <Actions notebook={notebook} />
    </div>
  )
}

function Facts({ notebook }: { readonly notebook: NotebookStatus }) {
  const { status, started_at: started, last_activity: active, expires_at: expires, url } = notebook
  if (status === 'not_found') return undefined
  const facts: readonly (readonly [string, ReactNode])[] = [
    [strings.address, url],
    ...(started ? [[strings.startedAt, <RelativeTime key="at" at={started} />] as const] : []),
    ...(active ? [[strings.lastActivity, <RelativeTime key="at" at={active} />] as const] : []),
    ...(expires ? [[strings.expiresAt, <RelativeTime key="at" at={expires} />] as const] : []),
  ]
  return (
    <dl className={classes.facts}>
      {facts.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

function Actions({ notebook: { status, url } }: { readonly notebook: NotebookStatus }) {
  const [isStopping, setStopping] = useState(false)
  const start = useAction({
    send: startNotebook,
    changes: ['notebook'],
    onDone: (started) => queryClient.setQueryData(notebookQuery.queryKey, started),
  })
  const stop = useAction({
    send: stopNotebook,
    changes: ['notebook'],
    said: strings.stopped,
    onDone: () => setStopping(false),
  })
  const isThere = status === 'running' || status === 'pending'
  return (
    <>
      <ErrorNotice error={start.error} />
      <Group gap="xs">
        {status === 'running' ? (
          <Button component="a" href={url} target="_blank" rel="noopener">
            {strings.open}
          </Button>
        ) : undefined}
        {status === 'not_found' ? (
          <Button loading={start.isPending} onClick={() => start.mutate()}>
            {strings.start}
          </Button>
        ) : (
          <Button variant="default" onClick={() => setStopping(true)}>
            {isThere ? strings.stop : strings.clear}
          </Button>
        )}
      </Group>
      <ConfirmDialog
        opened={isStopping}
        onClose={() => setStopping(false)}
        title={strings.stopDialog.title}
        consequences={strings.stopDialog.consequences}
        confirmLabel={isThere ? strings.stop : strings.clear}
        destructive
        action={stop}
        onConfirm={() => stop.mutate()}
      />
    </>
  )
}
