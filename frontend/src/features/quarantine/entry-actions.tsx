import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import type { QuarantineEntry } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Loading } from '../../components/status/states.tsx'
import { formatBytes, formatPlural } from '../../strings/everywhere/units.ts'
import { quarantine as words } from '../../strings/quarantine.ts'
import { purgeEntry, restoreEntry, type RestoreDetails, restorePlanQuery } from './api.ts'
import classes from './quarantine.module.css'

interface EntryProps {
  readonly entry: QuarantineEntry
}

/** What can be done with an entry that is held. */
export function EntryActions({ entry }: EntryProps) {
  const [open, setOpen] = useState<'restore' | 'purge'>()
  const canRestore = useCan('DataEngineer')
  const canPurge = useCan('LeadDataEngineer')
  if (entry.state !== 'held' && entry.state !== 'restoring') return undefined
  const close = (): void => setOpen(undefined)
  return (
    <span className={classes.actions}>
      {canRestore && (
        <Button size="compact-sm" variant="default" onClick={() => setOpen('restore')}>
          {words.restore.action}
        </Button>
      )}
      {canPurge && entry.state === 'held' && (
        <Button size="compact-sm" variant="default" onClick={() => setOpen('purge')}>
          {words.purge.action}
        </Button>
      )}
      <RestoreDialog entry={entry} opened={open === 'restore'} onClose={close} />
      <PurgeDialog entry={entry} opened={open === 'purge'} onClose={close} />
    </span>
  )
}

interface DialogProps extends EntryProps {
  readonly opened: boolean
  readonly onClose: () => void
}

function RestoreDialog({ entry, opened, onClose }: DialogProps) {
  const plan = useQuery(restorePlanQuery(entry.id, opened))
  const restore = useAction({
    send: () => restoreEntry(entry.id, plan.data?.planId),
    changes: ['quarantine', ['table', entry.table]],
    said: words.restore.done,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.restore.title(entry.table)}
      consequences={plan.data ? consequencesOf(plan.data.details) : []}
      confirmLabel={words.restore.action}
      confirmDisabled={plan.data === undefined}
      action={restore}
      error={plan.error}
      onConfirm={() => restore.mutate()}
    >
      {plan.isPending && <Loading lines={2} />}
    </ConfirmDialog>
  )
}

function consequencesOf(details: RestoreDetails): readonly string[] {
  const { restored_snapshots_count: snapshots, left_out_snapshots_count: leftOut, restored_refs: refs } = details
  const missing = details.missing_files_count
  const text = words.restore
  return [
    text.files(formatPlural(details.restored_files_count, 'file'), formatBytes(details.restored_bytes)),
    ...(snapshots > 0 ? [text.snapshots(snapshots)] : []),
    ...(refs.length > 0 ? [text.refs(refs.join(', '))] : []),
    ...(leftOut > 0 ? [text.leftOut(leftOut)] : []),
    ...(missing > 0 ? [text.missing(missing)] : []),
    text.unchanged,
  ]
}

function PurgeDialog({ entry, opened, onClose }: DialogProps) {
  const purge = useAction({
    send: () => purgeEntry(entry.id),
    changes: ['quarantine'],
    said: ({ deleted_files_count: count }) => words.purge.done(formatPlural(count, 'file')),
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={words.purge.title(entry.table)}
      consequences={words.purge.consequences(formatPlural(entry.files_count, 'file'), formatBytes(entry.bytes))}
      confirmLabel={words.purge.action}
      destructive
      action={purge}
      onConfirm={() => purge.mutate()}
    />
  )
}
