import { useBlocker } from '@tanstack/react-router'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { designerStrings } from '../../strings/designer.ts'

const words = designerStrings.leave

/** Asks before unsaved changes are left: for another page, another version, or for good. */
export function LeaveGuard({ isDirty }: { readonly isDirty: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && isElsewhere(current, next),
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      opened={status === 'blocked'}
      onClose={() => reset?.()}
      title={words.title}
      consequences={[words.text, words.saveFirst]}
      confirmLabel={words.confirm}
      onConfirm={() => proceed?.()}
      destructive
    />
  )
}

interface Place {
  readonly pathname: string
  readonly search: object
}

/** The chosen node is in the address too; choosing another one leaves nothing. */
function isElsewhere(current: Place, next: Place): boolean {
  const key = ({ pathname, search }: Place): string => JSON.stringify([pathname, { ...search, node: undefined }])
  return key(current) !== key(next)
}
