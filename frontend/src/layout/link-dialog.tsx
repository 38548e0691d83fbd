import { useState } from 'react'
import { type LinkOutcome, signIn } from '../api/session.ts'
import type { WhoAmI } from '../api/types.ts'
import { useAction } from '../api/actions/use-action.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { roleName, signIn as strings } from '../strings/everywhere/shell.ts'

const words = strings.switch

/** Asks before a sign-in link of another user replaces the session; closing the dialog keeps the session. */
export function LinkDialog({ link }: { readonly link: Extract<LinkOutcome, { kind: 'ask' }> }) {
  const { current, offered, token } = link
  const [opened, setOpened] = useState(true)
  const replace = useAction({
    send: () => signIn(token),
    // nothing that was read or typed in the old session stays
    onDone: () => location.reload(),
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={() => setOpened(false)}
      title={words.title}
      consequences={[words.consequence(nameOf(current), nameOf(offered))]}
      cancelLabel={words.stay(current.user)}
      confirmLabel={words.go(offered.user)}
      onConfirm={() => replace.mutate()}
      action={{ ...replace, isPending: replace.isPending || replace.isSuccess }}
    />
  )
}

function nameOf({ role, user }: WhoAmI): string {
  return `${user} (${roleName(role)})`
}
