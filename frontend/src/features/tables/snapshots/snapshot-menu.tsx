import { Menu } from '@mantine/core'
import { useEffect } from 'react'
import { useCan } from '../../../api/session.ts'
import { MoreIcon } from '../../../components/icons.tsx'
import { useRowTabIndex } from '../../../components/row-active.ts'
import { snapshots as words, table as tableWords } from '../../../strings/tables.ts'
import type { TabProps } from '../tabs/tab-props.ts'
import classes from './snapshots-tab.module.css'

/** Which snapshot's menu is open, and where its button is on the screen. */
export interface MenuPlace {
  readonly id: string
  readonly button: HTMLElement
}

interface MenuButtonProps {
  readonly id: string
  readonly onMenu: (place: MenuPlace) => void
}

/** The button of a row. All rows share one menu: a menu for each of them makes the list slow. */
export function SnapshotMenuButton({ id, onMenu }: MenuButtonProps) {
  const tabIndex = useRowTabIndex()
  return (
    <button
      type="button"
      className={classes.menuButton}
      tabIndex={tabIndex}
      aria-label={tableWords.rowActions(id)}
      aria-haspopup="menu"
      onClick={({ currentTarget }) => onMenu({ id, button: currentTarget })}
    >
      <MoreIcon />
    </button>
  )
}

interface SnapshotMenuProps {
  readonly place: MenuPlace
  readonly onAction: TabProps['onAction']
  readonly onClose: () => void
}

/** The menu of actions on one snapshot, next to the button that opened it. */
export function SnapshotMenu({ place: { id, button }, onAction, onClose }: SnapshotMenuProps) {
  const canRollBack = useCan('LeadDataEngineer')
  const { left, top, width, height } = button.getBoundingClientRect()
  useEffect(() => {
    // The menu stays where the button was: it would point at another row.
    addEventListener('scroll', onClose, { capture: true, passive: true })
    return () => removeEventListener('scroll', onClose, { capture: true })
  }, [onClose])
  return (
    <Menu opened position="bottom-end" onClose={onClose}>
      <Menu.Target>
        <span className={classes.menuPlace} style={{ left, top, width, height }} aria-hidden="true" />
      </Menu.Target>
      <Menu.Dropdown aria-label={tableWords.rowActions(id)}>
        {canRollBack && <Menu.Item onClick={() => onAction('rollback', { target: id })}>{words.rollback} …</Menu.Item>}
        <Menu.Item onClick={() => onAction('expire', { target: id })}>{words.expire} …</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
