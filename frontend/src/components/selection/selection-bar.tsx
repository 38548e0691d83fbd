import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { selection as words } from '../../strings/everywhere/selection.ts'
import { formatCount } from '../../strings/everywhere/units.ts'
import classes from './selection.module.css'
import { MAX_SELECTED, type Selection } from './selection.ts'

interface SelectionBarProps {
  /** What is selected, such as `Selected tables`. */
  readonly label: string
  readonly selection: Selection
  /** Keys of the rows of the list, in its order. */
  readonly shown: readonly string[]
  /** Buttons that act on the selected rows. */
  readonly children: ReactNode
}

/** What can be done to the selected rows of a list; nothing while none is selected. */
export function SelectionBar({ label, selection, shown, children }: SelectionBarProps) {
  const count = selection.keys.size
  if (count === 0) return null
  const all = Math.min(shown.length, MAX_SELECTED)
  return (
    <div className={classes.bar} role="group" aria-label={label}>
      <span role="status">{words.selected(formatCount(count))}</span>
      {children}
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
