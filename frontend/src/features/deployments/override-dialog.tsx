import { useState } from 'react'
import type { Deployment } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { NoteField } from '../../components/form/note-field.tsx'
import { deploymentPlanStrings, deploymentStrings } from '../../strings/deployments.ts'
import { overrideWindow } from './api.ts'

const words = deploymentStrings.override

interface OverrideDialogProps {
  /** A deployment whose rollout waits for a window. */
  readonly deployment: Deployment
  readonly onClose: () => void
}

/** Asks for the reason to begin a rollout before its window opens. */
export function OverrideDialog({ deployment, onClose }: OverrideDialogProps) {
  const [reason, setReason] = useState('')
  const override = useAction({
    send: () => overrideWindow(deployment, reason),
    changes: ['deployments'],
    said: deploymentPlanStrings.begun.deploy,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={words.title(deployment.environment)}
      consequences={[words.text]}
      confirmLabel={words.confirm}
      confirmDisabled={reason.trim() === ''}
      action={override}
      onConfirm={() => override.mutate()}
    >
      <NoteField label={words.reason} help={words.reasonHelp} value={reason} onChange={setReason} isRequired />
    </ConfirmDialog>
  )
}
