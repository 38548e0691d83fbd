import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeploymentAnswer, IntoBranch, StartFrom } from '../../api/types.ts'
import { hasCode } from '../../api/api-error.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { NO_START_CHOICE, requestedBranch, requestedStart } from '../../components/start-from/start-choice.ts'
import { StartFromFields } from '../../components/start-from/start-from-fields.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { ErrorNotice } from '../../components/status/error-notice.tsx'
import { Loading } from '../../components/status/states.tsx'
import { common } from '../../strings/everywhere/common.ts'
import { deploymentPlanStrings as words, deploymentStrings } from '../../strings/deployments.ts'
import { applyChange, type Basis, type DeploymentChange, planQuery } from './api.ts'
import { PlanView } from './plan-view.tsx'
import { type RowsChoice, RowsOfSink } from './rows-of-sink.tsx'

interface ChangeDialogProps {
  readonly change: DeploymentChange
  /** The rollout in progress that the change undoes, which has no preview. */
  readonly rolloutId: string | undefined
  /** Whether that rollout waits for a window, so that it is cancelled. */
  readonly isWaiting: boolean
  readonly onClose: () => void
}

/** Previews a change of a deployment, and carries it out when it is confirmed. */
export function ChangeDialog({ change: asked, rolloutId, isWaiting, onClose }: ChangeDialogProps) {
  const [checkpoint, setCheckpoint] = useState<RowsChoice>()
  const [choice, setChoice] = useState(NO_START_CHOICE)
  const [settled] = useDebouncedValue(choice, TYPING_MS)
  const from = requestedStart(settled)
  const change = changeOf(asked, { checkpoint, from, branch: requestedBranch(settled) })
  const isReady = from !== 'incomplete' && settled === choice
  const preview = useQuery({ ...planQuery(change), enabled: rolloutId === undefined && isReady })
  const isCancelled = isWaiting && rolloutId !== undefined
  const { mutate, isPending, error, reset } = useAction({
    send: (basis: Basis) => applyChange(change, basis),
    changes: ['deployments'],
    said: isCancelled ? words.cancelled : words.begun[change.action],
    onDone: onClose,
  })
  const again = (): void => {
    reset()
    void preview.refetch()
  }
  const action = isCancelled ? deploymentStrings.cancelRollout : deploymentStrings.actions[change.action]
  const basis = basisOf(
    rolloutId,
    !isReady || preview.isFetching || hasCode(error, 'PLAN_STALE') ? undefined : preview.data?.plan_id,
  )
  return (
    <Modal opened onClose={onClose} size="lg" title={words.title(action, change.environment)}>
      <Stack gap="sm">
        <EndedRollout rolloutId={rolloutId} isCancelled={isCancelled} />
        {isReady && <Preview preview={preview} change={change} onChoose={setCheckpoint} />}
        {asked.action === 'deploy' && (
          <StartFromFields
            choice={choice}
            onChange={(part) => setChoice((before) => ({ ...before, ...part }))}
            description={words.fromHelp}
            unset={words.fromDefault}
            errors={{}}
          />
        )}
        <Failure error={error} onAgain={again} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} disabled={isPending}>
            {common.cancel}
          </Button>
          <Button disabled={!basis} loading={isPending} onClick={() => basis && mutate(basis)}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** What happens to the rollout in progress. */
function EndedRollout({
  rolloutId,
  isCancelled,
}: Pick<ChangeDialogProps, 'rolloutId'> & { readonly isCancelled: boolean }) {
  if (rolloutId === undefined) return null
  return <Text size="sm">{isCancelled ? words.cancelWaiting : words.abort}</Text>
}

/** How long to wait for the next key before a preview is asked for. */
const TYPING_MS = 400

interface Chosen {
  readonly checkpoint: RowsChoice
  readonly from: StartFrom | 'incomplete' | undefined
  readonly branch: IntoBranch | undefined
}

/** The change with what was chosen; a start that is chosen needs a fresh checkpoint. */
function changeOf(asked: DeploymentChange, { checkpoint, from, branch }: Chosen): PreviewProps['change'] {
  if (from === undefined || from === 'incomplete') return { ...asked, checkpoint }
  return { ...asked, checkpoint: 'fresh', from, branch }
}

interface PreviewProps {
  readonly preview: UseQueryResult<DeploymentAnswer>
  readonly change: Omit<DeploymentChange, 'checkpoint'> & { readonly checkpoint: RowsChoice }
  readonly onChoose: (choice: RowsChoice) => void
}

function Preview({ preview, change, onChoose }: PreviewProps) {
  const { action, definitionId, environment, checkpoint, from } = change
  const { isFetching, error, data } = preview
  if (isFetching) return <Loading lines={4} label={words.planning} />
  const plan = data?.plan
  const rows = action === 'deploy' && from === undefined ? plan?.known_rows : undefined
  return (
    <>
      <ErrorNotice error={error} />
      {plan && (
        <PlanView
          plan={plan}
          definitionId={definitionId}
          environment={environment}
          onSolved={() => void preview.refetch()}
        />
      )}
      {rows && <RowsOfSink rows={rows} choice={checkpoint} onChoose={onChoose} />}
    </>
  )
}

function basisOf(rolloutId: string | undefined, planId: string | undefined): Basis | undefined {
  if (rolloutId !== undefined) return { rollout_id: rolloutId }
  return planId === undefined ? undefined : { plan_id: planId }
}

function Failure({ error, onAgain }: { readonly error: unknown; readonly onAgain: () => void }) {
  if (error === null) return undefined
  if (!hasCode(error, 'PLAN_STALE')) return <ErrorNotice error={error} />
  return (
    <Notice tone="warn">
      {words.stale}{' '}
      <Button variant="default" size="compact-xs" onClick={onAgain}>
        {words.again}
      </Button>
    </Notice>
  )
}
