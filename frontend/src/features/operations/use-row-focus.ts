import { type KeyboardEvent, type RefObject, useState } from 'react'
import { ROW_SHORTCUTS, rowDestination } from '../../components/table/data-table-keys.ts'
import { useShortcutHelp } from '../../components/shortcuts/use-shortcuts.ts'
import { shortcuts } from '../../strings/everywhere/shortcuts.ts'

interface RowFocusOptions {
  readonly count: number
  readonly list: RefObject<HTMLElement | null>
  readonly scrollTo: (index: number) => void
}

interface RowFocus {
  /** The row that the Tab key reaches. */
  readonly active: number
  readonly onKeyDown: (event: KeyboardEvent) => void
}

/**
 * Makes the buttons of a list one stop of the Tab key: arrow keys, Page Up and Down, Home and End move between them. Each
 * stands in an element with its `data-index`.
 */
export function useRowFocus({ count, list, scrollTo }: RowFocusOptions): RowFocus {
  useShortcutHelp(shortcuts.lists.place, ROW_SHORTCUTS)
  const [moved, setActive] = useState(0)
  const active = Math.max(0, Math.min(moved, count - 1))
  const onKeyDown = (event: KeyboardEvent): void => {
    const { target } = event
    if (!(target instanceof HTMLElement) || target.getAttribute('aria-expanded') === null) return
    const from = Number(target.closest<HTMLElement>('[data-index]')?.dataset['index'])
    const to = rowDestination(event.key, from, count - 1)
    if (to === undefined) return
    event.preventDefault()
    setActive(to)
    scrollTo(to)
    // The row may first have to be drawn.
    requestAnimationFrame(() => requestAnimationFrame(() => buttonAt(list.current, to)?.focus({ preventScroll: true })))
  }
  return { active, onKeyDown }
}

function buttonAt(list: HTMLElement | null, index: number): HTMLElement | null {
  return list?.querySelector<HTMLElement>(`[data-index="${index}"] > button`) ?? null
}
