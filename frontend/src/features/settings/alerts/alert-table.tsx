import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMemo, useState } from 'react'
import { refresh } from '../../../api/actions/refresh.ts'
import type { Alert } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { managedNotice } from '../../../strings/everywhere/managed.ts'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { ManyChangesBar } from '../../../components/selection/many-changes-bar.tsx'
import { selectColumn } from '../../../components/selection/select-column.tsx'
import { SelectionOfList, useSelection } from '../../../components/selection/selection.ts'
import { StatusDot } from '../../../components/status/status-dot.tsx'
import { errorText } from '../../../components/status/states.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { alertStrings as strings } from '../../../strings/alerts.ts'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { inAnHour, isSilenced } from './silence.ts'
import { deleteAlert, silenceAlert, testAlert } from './api.ts'
import { ALERT_CHANGES } from './many-changes.ts'
import classes from '../settings.module.css'

const LIST = { name: 'alerts' }

interface AlertTableProps {
  readonly alerts: readonly Alert[]
  readonly selected: string | undefined
  readonly onSelect: (id: string) => void
  readonly onEdit: (alert: Alert) => void
}

/** Alerts; opening one shows its notifications. */
export function AlertTable({ alerts, selected, onSelect, onEdit }: AlertTableProps) {
  const [chosen, choose] = useState<Alert>()
  const selection = useSelection()
  const columns = useMemo(() => columnsFor({ onEdit, onDelete: choose }), [onEdit])
  return (
    <SelectionOfList value={selection}>
      <ManyChangesBar
        label={strings.many.label}
        rows={alerts}
        selection={selection}
        changes={ALERT_CHANGES}
        counted={(count) => formatPlural(count, 'alert')}
        onApplied={() => refresh('alerts')}
      />
      <DataTable
        label={strings.title}
        list={LIST}
        rows={alerts}
        rowKey={({ id }) => id}
        columns={columns}
        selectedKey={selected}
        maxHeight={400}
        onOpen={({ id }) => onSelect(id)}
      />
      <DeleteDialog alert={chosen} onClose={() => choose(undefined)} />
    </SelectionOfList>
  )
}

const SELECT_COLUMN = selectColumn<Alert>(
  ({ id }) => id,
  ({ name }) => name,
)

interface Choices {
  readonly onEdit: (alert: Alert) => void
  readonly onDelete: (alert: Alert) => void
}

function columnsFor(choices: Choices): readonly ColumnSpec<Alert>[] {
  const { columns } = strings
  return [
    SELECT_COLUMN,
    {
      id: 'name',
      header: columns.name,
      value: ({ name }) => name,
      width: 'minmax(110px, 1.5fr)',
      cell: (alert) => <AlertName alert={alert} />,
    },
    {
      id: 'events',
      header: columns.events,
      value: ({ events }) => events,
      width: 'minmax(110px, 2fr)',
      belowOnPhone: true,
      cell: ({ events }) => <span title={events.join(', ')}>{events.join(', ')}</span>,
    },
    {
      id: 'destination',
      header: columns.destination,
      value: ({ destination, channel }) => `${strings.channels[channel.type]}: ${destination}`,
      width: 'minmax(110px, 1.5fr)',
      belowOnPhone: true,
      cell: ({ destination, channel }) => (
        <span title={destination}>{`${strings.channels[channel.type]}: ${destination}`}</span>
      ),
    },
    {
      id: 'state',
      header: columns.state,
      value: ({ silenced_until: until, active_conditions: active }) => stateName(until, active),
      width: '132px',
      cell: (alert) => <AlertState alert={alert} />,
    },
    {
      id: 'actions',
      header: columns.actions,
      value: null,
      width: 'minmax(248px, 300px)',
      belowOnPhone: true,
      cell: (alert) => <AlertActions alert={alert} {...choices} />,
    },
  ]
}

function AlertName({ alert }: { readonly alert: Alert }) {
  const notice = managedNotice(alert)
  return (
    <span title={[alert.name, notice].join(' ').trim()}>
      {alert.name} {notice !== undefined && <span className={classes.dimmed}>{notice}</span>}
    </span>
  )
}

function AlertState({ alert: { silenced_until: until, active_conditions: active } }: { readonly alert: Alert }) {
  if (isSilenced(until)) {
    return (
      <span>
        <StatusDot tone="idle" label={strings.states.silenced} /> <RelativeTime at={until ?? ''} />
      </span>
    )
  }
  if (active > 0) return <StatusDot tone="bad" label={strings.states.active(active)} />
  return <StatusDot tone="ok" label={strings.states.quiet} />
}

function stateName(until: string | null, active: number): 'silenced' | 'active' | 'quiet' {
  if (isSilenced(until)) return 'silenced'
  return active > 0 ? 'active' : 'quiet'
}

function AlertActions({ alert, onEdit, onDelete }: { readonly alert: Alert } & Choices) {
  const onError = (error: Error) => notifications.show({ message: errorText(error), color: 'red' })
  const test = useAction({
    send: () => testAlert(alert),
    changes: ['alerts'],
    onDone: ({ state, last_error: error, last_status: status }) => {
      const why = error ?? (status === null ? strings.test.noReason : String(status))
      const message = state === 'delivered' ? strings.test.done(alert.destination) : strings.test.failed(why)
      notifications.show({ message, ...(state === 'delivered' ? {} : { color: 'red' }) })
    },
    onError,
  })
  const silenced = isSilenced(alert.silenced_until)
  const silence = useAction({
    send: () => silenceAlert(alert, silenced ? null : inAnHour()),
    changes: ['alerts'],
    onError,
  })
  return (
    <span className={classes.buttons}>
      <RowButton label={strings.test.label(alert.name)} busy={test.isPending} onClick={() => test.mutate()}>
        {strings.test.action}
      </RowButton>
      <RowButton
        label={silenced ? strings.silence.endLabel(alert.name) : strings.silence.label(alert.name)}
        busy={silence.isPending}
        onClick={() => silence.mutate()}
      >
        {silenced ? strings.silence.end : strings.silence.action}
      </RowButton>
      {managedNotice(alert) === undefined && (
        <>
          <RowButton label={strings.edit.label(alert.name)} onClick={() => onEdit(alert)}>
            {strings.edit.action}
          </RowButton>
          <RowButton label={strings.remove.label(alert.name)} onClick={() => onDelete(alert)}>
            {strings.remove.action}
          </RowButton>
        </>
      )}
    </span>
  )
}

interface RowButtonProps {
  readonly label: string
  readonly busy?: boolean
  readonly onClick: () => void
  readonly children: string
}

function RowButton({ label, busy = false, onClick, children }: RowButtonProps) {
  return (
    <Button variant="default" size="compact-xs" aria-label={label} loading={busy} onClick={onClick}>
      {children}
    </Button>
  )
}

interface DeleteDialogProps {
  readonly alert: Alert | undefined
  readonly onClose: () => void
}

function DeleteDialog({ alert, onClose }: DeleteDialogProps) {
  const remove = useAction({
    send: (each: Alert) => deleteAlert(each),
    changes: ['alerts'],
    said: strings.remove.done,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      opened={alert !== undefined}
      onClose={onClose}
      title={strings.remove.title(alert?.name ?? '')}
      consequences={strings.remove.consequences}
      confirmLabel={strings.remove.action}
      destructive
      action={remove}
      onConfirm={() => {
        if (alert) remove.mutate(alert)
      }}
    />
  )
}
