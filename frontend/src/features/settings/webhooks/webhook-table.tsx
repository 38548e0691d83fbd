import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Webhook } from '../../../api/types.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { webhookStrings as strings } from '../../../strings/settings.ts'
import { deleteWebhook, webhooksQuery } from '../api.ts'

interface WebhookTableProps {
  readonly webhooks: readonly Webhook[]
  readonly selected: string | undefined
  readonly onSelect: (id: string) => void
}

/** Webhooks; opening one shows what was sent to it. */
export function WebhookTable({ webhooks, selected, onSelect }: WebhookTableProps) {
  const [chosen, choose] = useState<Webhook>()
  const columns = useMemo(() => columnsFor(choose), [])
  return (
    <>
      <DataTable
        label={strings.title}
        rows={webhooks}
        rowKey={({ id }) => id}
        columns={columns}
        selectedKey={selected}
        maxHeight={400}
        onOpen={({ id }) => onSelect(id)}
      />
      <DeleteDialog webhook={chosen} onClose={() => choose(undefined)} />
    </>
  )
}

function columnsFor(onDelete: (webhook: Webhook) => void): readonly ColumnSpec<Webhook>[] {
  const { columns } = strings
  return [
    { id: 'url', header: columns.url, width: 'minmax(160px, 3fr)', cell: ({ url }) => <span title={url}>{url}</span> },
    {
      id: 'types',
      header: columns.types,
      width: 'minmax(96px, 2fr)',
      cell: ({ types }) => <span title={types.join(', ')}>{types.join(', ')}</span>,
      belowOnPhone: true,
    },
    {
      id: 'by',
      header: columns.createdBy,
      width: 'minmax(72px, 1fr)',
      cell: ({ created_by: who }) => <span>{who}</span>,
      belowOnPhone: true,
    },
    {
      id: 'at',
      header: columns.created,
      width: '104px',
      cell: ({ created_at: at }) => <RelativeTime at={at} />,
      hideOnPhone: true,
    },
    {
      id: 'actions',
      header: columns.actions,
      width: '92px',
      cell: (webhook) => (
        <Button
          variant="default"
          size="compact-xs"
          aria-label={strings.remove.label(webhook.url)}
          onClick={() => onDelete(webhook)}
        >
          {strings.remove.action}
        </Button>
      ),
    },
  ]
}

interface DeleteDialogProps {
  readonly webhook: Webhook | undefined
  readonly onClose: () => void
}

function DeleteDialog({ webhook, onClose }: DeleteDialogProps) {
  const client = useQueryClient()
  const remove = useMutation({
    mutationFn: (id: string) => deleteWebhook(id),
    onSuccess: () => {
      onClose()
      notifications.show({ message: strings.remove.done })
      return client.invalidateQueries({ queryKey: webhooksQuery.queryKey })
    },
  })
  const close = (): void => {
    remove.reset()
    onClose()
  }
  return (
    <ConfirmDialog
      opened={webhook !== undefined}
      onClose={close}
      title={strings.remove.title}
      consequences={strings.remove.consequences}
      confirmLabel={strings.remove.action}
      destructive
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => {
        if (webhook) remove.mutate(webhook.id)
      }}
    >
      <code>{webhook?.url}</code>
    </ConfirmDialog>
  )
}
