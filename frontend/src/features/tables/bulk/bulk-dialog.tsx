import { Button, Group, Modal, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { refresh } from '../../../api/actions/refresh.ts'
import type { BulkKind } from '../../../../../src/domain/tables/operations.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { formatCount, formatPlural } from '../../../strings/everywhere/units.ts'
import { common, operations } from '../../../strings/everywhere/common.ts'
import { bulk as words } from '../../../strings/bulk.ts'
import { forgetTable } from '../api.ts'
import { BulkList } from './bulk-list.tsx'
import { BulkRun } from './bulk-run.ts'
import { countSteps } from './bulk-words.ts'
import classes from './bulk.module.css'

interface BulkDialogProps {
  readonly kind: BulkKind
  readonly tables: readonly string[]
  readonly onClose: (wasApplied: boolean) => void
}

/** One plan for many tables: previews, one confirmation, progress, and the result of each. */
export function BulkDialog({ kind, tables, onClose }: BulkDialogProps) {
  const [run] = useState(() => new BulkRun(kind, tables))
  const [applied, setApplied] = useState(false)
  const items = useSyncExternalStore(run.subscribe, run.items)
  useEffect(() => {
    void run.plan()
    return () => run.close()
  }, [run])
  const counts = countSteps(items)
  const close = (): void => onClose(applied)
  const isBusy = applied && counts.starting > 0
  const apply = (): void => {
    setApplied(true)
    void run.apply().then(() => reload(tables))
  }
  const name = operations.names[kind] ?? kind
  return (
    <Modal
      opened
      onClose={close}
      size="44rem"
      title={words.title(name, formatPlural(tables.length, 'table'))}
      closeOnClickOutside={false}
      closeOnEscape={!isBusy}
      withCloseButton={!isBusy}
    >
      <Stack gap="sm">
        <BulkState counts={counts} applied={applied} />
        <BulkList kind={kind} items={items} applied={applied} />
        <Group justify="flex-end" gap="xs">
          {counts.started > 0 && (
            <Link to="/operations" search={{ group: run.group } as never}>
              {words.openGroup}
            </Link>
          )}
          <Button variant="default" onClick={close} disabled={isBusy}>
            {applied ? common.close : common.cancel}
          </Button>
          {!applied && (counts.planned > 0 || counts.planning > 0) && (
            <Button disabled={counts.planning > 0} onClick={apply} {...(kind === 'expire' ? { color: 'red.8' } : {})}>
              {words.confirm(name, formatPlural(counts.planned, 'table'))}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  )
}

interface BulkStateProps {
  readonly counts: ReturnType<typeof countSteps>
  readonly applied: boolean
}

/** How far the plan is, in one sentence. */
function BulkState({ counts, applied }: BulkStateProps) {
  const { all, planning, planned, starting, started, ended, succeeded } = counts
  if (!applied) {
    if (planning > 0) {
      return (
        <p className={classes.about} role="status">
          {words.planning(formatCount(all - planning), formatCount(all))}
        </p>
      )
    }
    return <Notice tone="info">{planned === 0 ? words.nothingAtAll : words.about}</Notice>
  }
  if (starting === 0 && started === 0) return <Notice tone="bad">{words.noneStarted}</Notice>
  if (starting > 0 || ended < started) {
    return <Notice tone="info">{words.progress(formatCount(ended), formatCount(started + starting))}</Notice>
  }
  const tone = succeeded === started ? 'ok' : 'warn'
  return <Notice tone={tone}>{words.allEnded(formatCount(succeeded), formatCount(started))}</Notice>
}

/** Reads again what the operations have changed. */
async function reload(tables: readonly string[]): Promise<void> {
  await Promise.all(tables.map(forgetTable))
  await refresh('health-index')
}
