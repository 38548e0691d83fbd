import { Button, Radio, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { minRoleIn } from '../../../../src/domain/environments.ts'
import { useCan } from '../../api/session.ts'
import type { Pipeline } from '../../api/types.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { PlayIcon, StopIcon, TrashIcon } from '../../components/icons.tsx'
import { pipelines as words } from '../../strings/pipelines.ts'
import { useDeletePipeline, useStartPipeline, useStopPipeline } from './api.ts'
import { monitorStore } from './monitor/store.ts'
import { restartRequest } from './start/form.ts'

type Asked = 'stop' | 'restart' | 'remove'

/** The actions that a pipeline's state and its environment allow the user, each with a confirmation. */
export function PipelineActions({ pipeline }: { readonly pipeline: Pipeline }) {
  const { environment } = pipeline
  const canAct = useCan(environment ? minRoleIn(environment) : 'DataEngineer')
  const [asked, setAsked] = useState<Asked>()
  if (!canAct) return null
  const isResting = pipeline.state === 'stopped' || pipeline.state === 'failed'
  const dialog = { pipeline, onClose: () => setAsked(undefined) }
  return (
    <>
      {isResting ? (
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
          disabled={pipeline.desired_state === 'stopped'}
          onClick={() => setAsked('stop')}
        >
          {words.stop.action}
        </Button>
      )}
      <StopDialog {...dialog} opened={asked === 'stop'} />
      <RestartDialog {...dialog} opened={asked === 'restart'} />
      <RemoveDialog {...dialog} opened={asked === 'remove'} />
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
  const stop = useStopPipeline(pipeline.id)
  const confirm = (): void =>
    stop.mutate(mode, {
      onSuccess: () => {
        notifications.show({ message: words.stop.done })
        onClose()
      },
    })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.stop.title(pipeline.sink_table)}
      consequences={words.stop.consequences}
      confirmLabel={words.stop.confirm}
      onConfirm={confirm}
      busy={stop.isPending}
      error={stop.error}
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
  const start = useStartPipeline()
  const confirm = (): void =>
    start.mutate(restartRequest(pipeline), {
      onSuccess: () => {
        notifications.show({ message: words.restart.done })
        onClose()
      },
    })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.restart.title(pipeline.sink_table)}
      consequences={words.restart.consequences(pipeline.checkpoint_location)}
      confirmLabel={words.restart.confirm}
      onConfirm={confirm}
      busy={start.isPending}
      error={start.error}
    >
      <Link to="/pipelines/new" search={{ like: pipeline.id }}>
        {words.restart.change}
      </Link>
    </ConfirmDialog>
  )
}

function RemoveDialog({ pipeline, opened, onClose }: DialogProps) {
  const remove = useDeletePipeline(pipeline.id)
  const navigate = useNavigate()
  const confirm = (): void =>
    remove.mutate(undefined, {
      onSuccess: () => {
        notifications.show({ message: words.remove.done })
        void navigate({ to: '/pipelines' }).then(() => monitorStore.remove(pipeline.id))
      },
    })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.remove.title(pipeline.sink_table)}
      consequences={words.remove.consequences}
      confirmLabel={words.remove.confirm}
      onConfirm={confirm}
      busy={remove.isPending}
      error={remove.error}
      destructive
    />
  )
}
