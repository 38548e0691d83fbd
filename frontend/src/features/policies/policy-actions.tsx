import { Button } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import type { Policy } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { formatPlural } from '../../strings/everywhere/units.ts'
import { policies as words } from '../../strings/policies.ts'
import { useDialog } from '../../use-dialog.ts'
import { deletePolicy, requestOf, updatePolicy } from './api.ts'
import { POLICY_DIALOGS } from './policy-dialogs.ts'

interface ActionProps {
  readonly policy: Policy
}

/** What a lead can do to a policy. */
export function PolicyActions({ policy }: ActionProps) {
  const [open, setOpen] = useDialog(POLICY_DIALOGS)
  const close = (): void => setOpen(undefined)
  return (
    <>
      <Button onClick={() => setOpen('mode')} {...(policy.mode === 'active' ? { variant: 'default' } : {})}>
        {policy.mode === 'active' ? words.pause.action : words.activate.action}
      </Button>
      <Button
        variant="default"
        renderRoot={(props) => <Link {...props} to="/policies/$id/edit" params={{ id: policy.id }} />}
      >
        {words.edit}
      </Button>
      <Button variant="default" onClick={() => setOpen('deletion')}>
        {words.remove}
      </Button>
      <ModeDialog policy={policy} opened={open === 'mode'} onClose={close} />
      <DeleteDialog policy={policy} opened={open === 'deletion'} onClose={close} />
    </>
  )
}

interface DialogProps extends ActionProps {
  readonly opened: boolean
  readonly onClose: () => void
}

function ModeDialog({ policy, opened, onClose }: DialogProps) {
  const isActive = policy.mode === 'active'
  const change = useAction({
    send: () => updatePolicy(policy, { ...requestOf(policy), mode: isActive ? 'shadow' : 'active' }),
    changes: ['policies'],
    onDone: onClose,
  })
  const { title, action } = isActive ? words.pause : words.activate
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={title(policy.name)}
      consequences={
        isActive ? words.pause.consequences : words.activate.consequences(formatPlural(policy.matched_tables, 'table'))
      }
      confirmLabel={action}
      action={change}
      onConfirm={() => change.mutate()}
    />
  )
}

function DeleteDialog({ policy, opened, onClose }: DialogProps) {
  const navigate = useNavigate()
  const remove = useAction({
    send: () => deletePolicy(policy),
    changes: ['policies'],
    said: words.deletion.done,
    onDone: () => navigate({ to: '/policies' }),
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.deletion.title(policy.name)}
      consequences={words.deletion.consequences}
      confirmLabel={words.remove}
      destructive
      action={remove}
      onConfirm={() => remove.mutate()}
    />
  )
}
