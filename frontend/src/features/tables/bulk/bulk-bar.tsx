import { Button, Menu } from '@mantine/core'
import { BULK_KINDS, type BulkKind } from '../../../../../src/domain/tables/operations.ts'
import { formatCount } from '../../../strings/shared/units.ts'
import { ChevronDownIcon } from '../../../components/icons.tsx'
import { operations } from '../../../strings/shared/common.ts'
import { bulk as words } from '../../../strings/bulk.ts'
import { MAX_SELECTED, type Selection } from './selection.ts'
import classes from './bulk.module.css'

interface BulkBarProps {
  readonly selection: Selection
  /** The tables of the list, in its order. */
  readonly shown: readonly string[]
  readonly onStart: (kind: BulkKind) => void
}

/** What can be done to the selected tables; nothing while none is selected. */
export function BulkBar({ selection, shown, onStart }: BulkBarProps) {
  const count = selection.tables.size
  if (count === 0) return null
  const all = Math.min(shown.length, MAX_SELECTED)
  return (
    <div className={classes.bar} role="group" aria-label={words.barLabel}>
      <span role="status">{words.selected(formatCount(count))}</span>
      <Button onClick={() => onStart('compact')}>
        {words.start(operations.names['compact'] ?? '', formatCount(count))}
      </Button>
      <Menu position="bottom-start">
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronDownIcon size={14} />}>
            {words.more}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {BULK_KINDS.filter((kind) => kind !== 'compact').map((kind) => (
            <Menu.Item key={kind} onClick={() => onStart(kind)}>
              {operations.names[kind]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {count < all && (
        <Button variant="subtle" onClick={() => selection.select(shown)}>
          {all < shown.length ? words.selectFirst(formatCount(all)) : words.selectAll(formatCount(all))}
        </Button>
      )}
      <Button variant="subtle" onClick={() => selection.select([])}>
        {words.clear}
      </Button>
    </div>
  )
}
