import { Button, Group, Stack } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import type { ActionState } from '../../api/actions/use-action.ts'
import { common } from '../../strings/everywhere/common.ts'
import { ErrorNotice } from '../status/error-notice.tsx'

interface DialogFormProps {
  /** The request that the form sends. */
  readonly action: Pick<ActionState, 'isPending' | 'error'>
  readonly submitLabel: string
  readonly canSubmit?: boolean
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void
  readonly onCancel: () => void
  /** Shown instead of the message of the error. */
  readonly failure?: ReactNode
  readonly children: ReactNode
}

/** The fields of a dialog, why its request failed, and its two buttons. */
export function DialogForm(props: DialogFormProps) {
  const { action, submitLabel, canSubmit = true, onSubmit, onCancel, children } = props
  const { failure = <ErrorNotice error={action.error} /> } = props
  return (
    <form noValidate onSubmit={onSubmit}>
      <Stack gap="sm">
        {children}
        {failure}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel} disabled={action.isPending}>
            {common.cancel}
          </Button>
          <Button type="submit" disabled={!canSubmit} loading={action.isPending}>
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
