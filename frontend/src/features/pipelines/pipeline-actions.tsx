import { Button, Radio, Stack } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import type { Pipeline } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { PlayIcon, StopIcon, TrashIcon } from '../../components/icons.tsx'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { useDialog } from '../../use-dialog.ts'
import { deletePipeline, startPipeline, stopPipeline } from './api.ts'
import { monitorStore } from './monitor/store.ts'
import { allowedDialogs, PIPELINE_DIALOGS, roleFor } from './pipeline-dialogs.ts'
import { restartRequest } from './start/form.ts'

/** The actions that a pipeline's state and its environment allow the user, each with a confirmation. */
export function PipelineActions({ pipeline }: { readonly pipeline: Pipeline }) {
  const canAct = useCan(roleFor(pipeline))
  const [asked, setAsked] = useDialog(PIPELINE_DIALOGS)
  if (!canAct) return null
  const allowed = allowedDialogs(pipeline)
  const dialog = { pipeline, onClose: () => setAsked(undefined) }
  return (
    <>
      {allowed.includes('restart') ? (
        <>
          <Button variant="default" leftSection={<TrashIcon size={14} />} onClick={() => setAsked('remove')}>
            {words.remove.action}
          </Button>
          <Button leftSection={<PlayIcon size={14} />} onClick={() => setAsked('restart')}>
            {words.restart.action}
          </Button>
        </>
      ) : (
        <Button
          variant="default"
          leftSection={<StopIcon size={14} />}
          disabled={!allowed.includes('stop')}
          onClick={() => setAsked('stop')}
        >
          {words.stop.action}
        </Button>
      )}
      <StopDialog {...dialog} opened={asked === 'stop' && allowed.includes('stop')} />
      <RestartDialog {...dialog} opened={asked === 'restart' && allowed.includes('restart')} />
      <RemoveDialog {...dialog} opened={asked === 'remove' && allowed.includes('remove')} />
    </>
  )
}

interface DialogProps {
  readonly pipeline: Pipeline
  readonly opened: boolean
  readonly onClose: () => void
}

/** Asks how to stop a pipeline, and stops it. */
export function StopDialog({ pipeline, opened, onClose }: DialogProps) {
  const [mode, setMode] = useState<'graceful' | 'immediate'>('graceful')
  const stop = useAction({
    send: () => stopPipeline(pipeline.id, mode),
    changes: [['pipelines', pipeline.id]],
    said: words.stop.done,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.stop.title(pipeline.sink_table)}
      consequences={words.stop.consequences}
      confirmLabel={words.stop.confirm}
      onConfirm={() => stop.mutate()}
      action={stop}
      destructive
    >
      <Radio.Group
        label={words.stop.mode}
        value={mode}
        onChange={(value) => setMode(value === 'immediate' ? 'immediate' : 'graceful')}
      >
        <Stack gap="xs" mt="xs">
          <Radio size="xs" value="graceful" label={words.stop.graceful} description={words.stop.gracefulHelp} />
          <Radio size="xs" value="immediate" label={words.stop.immediate} description={words.stop.immediateHelp} />
        </Stack>
      </Radio.Group>
    </ConfirmDialog>
  )
}

function RestartDialog({ pipeline, opened, onClose }: DialogProps) {
  const start = useAction({
    send: () => startPipeline(restartRequest(pipeline)),
    changes: ['pipelines'],
    said: words.restart.done,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.restart.title(pipeline.sink_table)}
      consequences={words.restart.consequences(pipeline.checkpoint_location)}
      confirmLabel={words.restart.confirm}
      onConfirm={() => start.mutate()}
      action={start}
    >
      <Link to="/pipelines/new" search={{ like: pipeline.id }}>
        {words.restart.change}
      </Link>
    </ConfirmDialog>
  )
}

function RemoveDialog({ pipeline, opened, onClose }: DialogProps) {
  const navigate = useNavigate()
  const remove = useAction({
    send: () => deletePipeline(pipeline.id),
    said: words.remove.done,
    onDone: async () => {
      await navigate({ to: '/pipelines' })
      monitorStore.remove(pipeline.id)
    },
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.remove.title(pipeline.sink_table)}
      consequences={words.remove.consequences}
      confirmLabel={words.remove.confirm}
      onConfirm={() => remove.mutate()}
      action={remove}
      destructive
    />
  )
}
