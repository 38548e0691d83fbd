import { Button, Menu } from '@mantine/core'
import { BULK_KINDS, type BulkKind } from '../../../../../src/domain/tables/operations.ts'
import { SelectionBar } from '../../../components/selection/selection-bar.tsx'
import type { Selection } from '../../../components/selection/selection.ts'
import { formatCount } from '../../../strings/everywhere/units.ts'
import { ChevronDownIcon } from '../../../components/icons.tsx'
import { operations } from '../../../strings/everywhere/common.ts'
import { bulk as words } from '../../../strings/bulk.ts'

interface BulkBarProps {
  readonly selection: Selection
  /** The tables of the list, in its order. */
  readonly shown: readonly string[]
  readonly onStart: (kind: BulkKind) => void
}

/** What can be done to the selected tables; nothing while none is selected. */
export function BulkBar({ selection, shown, onStart }: BulkBarProps) {
  return (
    <SelectionBar label={words.barLabel} selection={selection} shown={shown}>
      <Button onClick={() => onStart('compact')}>
        {words.start(operations.names['compact'] ?? '', formatCount(selection.keys.size))}
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
    </SelectionBar>
  )
}
