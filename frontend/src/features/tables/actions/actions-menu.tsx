import { Button, Menu } from '@mantine/core'
import { useMe } from '../../../api/session.ts'
import { ChevronDownIcon } from '../../../components/icons.tsx'
import { operations } from '../../../strings/everywhere/common.ts'
import { table as words } from '../../../strings/tables.ts'
import type { ActionKind } from './action-specs.ts'
import { offeredActions } from './offered-actions.ts'

/** The menu of actions that the caller's role allows; nothing for roles that can only read. */
export function ActionsMenu({ onChoose }: { readonly onChoose: (kind: ActionKind) => void }) {
  const offered = offeredActions(useMe()?.role)
  if (offered.length === 0) return null
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <Button variant="default" rightSection={<ChevronDownIcon size={12} />}>
          {words.actions}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {offered.map((kind) => (
          <Menu.Item key={kind} onClick={() => onChoose(kind)}>
            {operations.names[kind]} …
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
