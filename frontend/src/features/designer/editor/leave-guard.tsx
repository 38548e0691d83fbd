import { useBlocker } from '@tanstack/react-router'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'

const words = designerStrings.leave

/** Asks before unsaved changes are lost by leaving for another page or version. */
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

/** The selected node is part of the URL; selecting another one is not leaving the page. */
function isElsewhere(current: Place, next: Place): boolean {
  const key = ({ pathname, search }: Place): string => JSON.stringify([pathname, { ...search, node: undefined }])
  return key(current) !== key(next)
}
