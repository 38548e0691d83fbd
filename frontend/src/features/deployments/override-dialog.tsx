import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Deployment } from '../../api/types.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { NoteField } from '../../components/form/note-field.tsx'
import { deploymentPlanStrings, deploymentStrings } from '../../strings/deployments.ts'
import { overrideWindow, refreshDeployments } from './api.ts'

const words = deploymentStrings.override

interface OverrideDialogProps {
  /** A deployment whose rollout waits for a window. */
  readonly deployment: Deployment
  readonly onClose: () => void
}

/** Asks for the reason to begin a rollout before its window opens. */
export function OverrideDialog({ deployment, onClose }: OverrideDialogProps) {
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => overrideWindow(deployment, reason),
    onSuccess: () => {
      notifications.show({ message: deploymentPlanStrings.begun.deploy })
      onClose()
    },
    onSettled: () => refreshDeployments(client),
  })
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={words.title(deployment.environment)}
      consequences={[words.text]}
      confirmLabel={words.confirm}
      confirmDisabled={reason.trim() === ''}
      busy={isPending}
      error={error}
      onConfirm={() => mutate()}
    >
      <NoteField label={words.reason} help={words.reasonHelp} value={reason} onChange={setReason} isRequired />
    </ConfirmDialog>
  )
}
