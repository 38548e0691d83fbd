import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { hasCode } from '../../api/api-error.ts'
import type { Operation } from '../../api/types.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { operationStrings } from '../../strings/operations.ts'
import { cancelOperation } from './api.ts'
import { operationName } from './operation-words.ts'

const strings = operationStrings.cancel

/** Cancels a running operation, after a confirmation that lists the consequences. */
export function CancelOperation({ operation }: { readonly operation: Operation }) {
  const [isOpen, setOpen] = useState(false)
  const cancel = useMutation({
    mutationFn: () => cancelOperation(operation.id),
    onSuccess: () => setOpen(false),
    onError: (error) => {
      if (hasCode(error, 'CONFLICT')) setOpen(false) // it has ended already; the page shows the result
    },
  })
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {strings.action}
      </Button>
      <ConfirmDialog
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={strings.title(operationName(operation.operation), operation.table)}
        consequences={[strings.text]}
        confirmLabel={strings.confirm}
        cancelLabel={strings.keep}
        destructive
        busy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
      />
    </>
  )
}
