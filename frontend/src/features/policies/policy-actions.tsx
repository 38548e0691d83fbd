import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { Policy } from '../../api/types.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { formatPlural } from '../../strings/everywhere/units.ts'
import { policies as words } from '../../strings/policies.ts'
import { useDialog } from '../../use-dialog.ts'
import { deletePolicy, POLICIES_KEY, requestOf, updatePolicy } from './api.ts'
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
  const client = useQueryClient()
  const isActive = policy.mode === 'active'
  const change = useMutation({
    mutationFn: () => updatePolicy(policy, { ...requestOf(policy), mode: isActive ? 'shadow' : 'active' }),
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: POLICIES_KEY }),
  })
  const { title, action } = isActive ? words.pause : words.activate
  return (
    <ConfirmDialog
      opened={opened}
      onClose={() => {
        change.reset()
        onClose()
      }}
      title={title(policy.name)}
      consequences={
        isActive ? words.pause.consequences : words.activate.consequences(formatPlural(policy.matched_tables, 'table'))
      }
      confirmLabel={action}
      busy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
    />
  )
}

function DeleteDialog({ policy, opened, onClose }: DialogProps) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => deletePolicy(policy),
    onSuccess: async () => {
      notifications.show({ message: words.deletion.done })
      await navigate({ to: '/policies' })
      await client.invalidateQueries({ queryKey: POLICIES_KEY })
    },
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={() => {
        remove.reset()
        onClose()
      }}
      title={words.deletion.title(policy.name)}
      consequences={words.deletion.consequences}
      confirmLabel={words.remove}
      destructive
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    />
  )
}
