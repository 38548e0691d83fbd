import { Button, Group, List, Modal, Stack } from '@mantine/core'
import { useState, useSyncExternalStore } from 'react'
import { common } from '../../strings/everywhere/common.ts'
import { selection as words } from '../../strings/everywhere/selection.ts'
import { formatCount } from '../../strings/everywhere/units.ts'
import { Notice } from '../status/notice.tsx'
import { type ChangedRow, ManyChanges } from './many-changes.ts'
import type { NamedRow, OfferedChange } from './offered-change.ts'
import classes from './selection.module.css'

interface ChangeManyProps<Row> {
  readonly change: OfferedChange<Row>
  readonly items: readonly Row[]
  readonly title: string
  readonly onApplied: () => unknown
  readonly onClose: (wasApplied: boolean) => void
}

/** Changes the selected rows of a list: consequences, one confirmation, and the result of each row. */
export function ChangeManyDialog<Row extends NamedRow>(props: ChangeManyProps<Row>) {
  const { change, title, onApplied, onClose } = props
  const [run] = useState(() => new ManyChanges(props.items, change))
  const [applied, setApplied] = useState(false)
  const rows = useSyncExternalStore(run.subscribe, run.rows)
  const isBusy = rows.some(({ step }) => step === 'waiting')
  const canApply = rows.some(({ step }) => step === 'planned')
  const apply = (): void => {
    setApplied(true)
    void run.apply().finally(onApplied)
  }
  return (
    <Modal
      opened
      onClose={() => onClose(applied)}
      size="36rem"
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={!isBusy}
      withCloseButton={!isBusy}
    >
      <Stack gap="sm">
        {applied ? <Outcome rows={rows} isBusy={isBusy} /> : <Plan change={change} canApply={canApply} />}
        <Rows rows={rows} title={applied ? words.result : words.plan} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={() => onClose(applied)} disabled={isBusy}>
            {canApply ? common.cancel : common.close}
          </Button>
          {(isBusy || canApply) && (
            <Button onClick={apply} loading={isBusy} {...(change.isDestructive === true ? { color: 'red.8' } : {})}>
              {change.words.action}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  )
}

interface PlanProps<Row> {
  readonly change: OfferedChange<Row>
  readonly canApply: boolean
}

function Plan<Row>({ change, canApply }: PlanProps<Row>) {
  if (!canApply) return <Notice tone="info">{words.nothing}</Notice>
  return (
    <List size="sm" spacing={4}>
      {change.words.consequences.map((text) => (
        <List.Item key={text}>{text}</List.Item>
      ))}
    </List>
  )
}

interface OutcomeProps<Row> {
  readonly rows: readonly ChangedRow<Row>[]
  readonly isBusy: boolean
}

function Outcome<Row>({ rows, isBusy }: OutcomeProps<Row>) {
  if (isBusy) return undefined
  const done = rows.filter(({ step }) => step === 'done').length
  const failed = rows.filter(({ step }) => step === 'failed').length
  return (
    <Notice tone={failed === 0 ? 'ok' : 'warn'} role="status">
      {words.ended(formatCount(done), formatCount(done + failed))}
    </Notice>
  )
}

interface RowsProps<Row> {
  readonly rows: readonly ChangedRow<Row>[]
  readonly title: string
}

function Rows<Row extends NamedRow>({ rows, title }: RowsProps<Row>) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={classes.scroll} role="region" aria-label={title} tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{words.name}</th>
            <th scope="col">{title}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.row.id}>
              <th scope="row">{one.row.name}</th>
              <td>
                <Step of={one} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Step<Row>({ of }: { readonly of: ChangedRow<Row> }) {
  switch (of.step) {
    case 'planned':
      return words.change
    case 'waiting':
      return <span className={classes.dim}>{words.waiting}</span>
    case 'done':
      return words.done
    case 'left-out':
      return <span className={classes.dim}>{of.reason}</span>
    case 'failed':
      return <span className={classes.bad}>{of.reason}</span>
  }
}
