import { Button } from '@mantine/core'
import { hasCode } from '../../api/api-error.ts'
import type { Operation } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { operationStrings } from '../../strings/operations.ts'
import { useDialog } from '../../use-dialog.ts'
import { cancelOperation } from './api.ts'
import { operationName } from './operation-words.ts'

const strings = operationStrings.cancel
const DIALOGS = ['cancel'] as const

/** Cancels a running operation, after a confirmation that lists the consequences. */
export function CancelOperation({ operation }: { readonly operation: Operation }) {
  const [open, setOpen] = useDialog(DIALOGS)
  const cancel = useAction({
    send: () => cancelOperation(operation.id),
    onDone: () => setOpen(undefined),
    onError: (error) => {
      if (hasCode(error, 'CONFLICT')) setOpen(undefined) // it has ended already; the page shows the result
    },
  })
  return (
    <>
      <Button variant="default" onClick={() => setOpen('cancel')}>
        {strings.action}
      </Button>
      <ConfirmDialog
        opened={open === 'cancel'}
        onClose={() => setOpen(undefined)}
        title={strings.title(operationName(operation.operation), operation.table)}
        consequences={[strings.text]}
        confirmLabel={strings.confirm}
        cancelLabel={strings.keep}
        destructive
        action={cancel}
        onConfirm={() => cancel.mutate()}
      />
    </>
  )
}
