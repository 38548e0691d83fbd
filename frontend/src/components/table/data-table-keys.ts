import { shortcuts } from '../../strings/everywhere/shortcuts.ts'
import type { Shortcut } from '../shortcuts/registry.ts'
import { useShortcutHelp } from '../shortcuts/use-shortcuts.ts'
import { type FocusEvent, type KeyboardEvent, type RefObject, useState } from 'react'

const words = shortcuts.lists

interface RowKeysOptions {
  readonly count: number
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly scrollTo: (index: number) => void
}

interface RowKeys {
  /** The row that the Tab key reaches. */
  readonly active: number
  readonly onKeyDown: (event: KeyboardEvent) => void
  /** Makes the clicked or focused row the current one. */
  readonly onFocus: (event: FocusEvent) => void
}

const PAGE_ROWS = 15

interface Move {
  readonly key: string
  readonly label: string
  /** The row to move to; it may lie outside of the list. */
  readonly to: (from: number) => number
}

const MOVES: readonly Move[] = [
  { key: 'ArrowDown', label: words.step, to: (from) => from + 1 },
  { key: 'ArrowUp', label: words.step, to: (from) => from - 1 },
  { key: 'PageDown', label: words.page, to: (from) => from + PAGE_ROWS },
  { key: 'PageUp', label: words.page, to: (from) => from - PAGE_ROWS },
  { key: 'Home', label: words.ends, to: () => 0 },
  { key: 'End', label: words.ends, to: () => Infinity },
]

/** The keys of a list, for the help. */
export const ROW_SHORTCUTS: readonly Shortcut[] = [
  ...[...new Set(MOVES.map(({ label }) => label))].map((label) => ({
    keys: MOVES.filter((move) => move.label === label).map(({ key }) => key),
    label,
  })),
  { keys: ['Enter', 'Space'], label: words.open },
]

/** Moves the focus from row to row by arrow keys, Page Up and Down, Home and End; Enter and Space open the row. */
export function useRowKeys({ count, scroller, scrollTo }: RowKeysOptions): RowKeys {
  useShortcutHelp(words.place, ROW_SHORTCUTS)
  const [moved, setActive] = useState(0)
  const active = Math.max(0, Math.min(moved, count - 1))
  const focusRow = (index: number): void => {
    setActive(index)
    scrollTo(index)
    // The row may first have to be drawn.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => rowAt(scroller.current, index)?.focus({ preventScroll: true })),
    )
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const { target } = event
    if (!(target instanceof HTMLElement) || target.getAttribute('role') !== 'row') return
    const from = Number(target.dataset['rowIndex'])
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      const link = target.querySelector('a')
      if (link) link.click()
      else target.click()
      return
    }
    const to = rowDestination(event.key, from, count - 1)
    if (to === undefined) return
    event.preventDefault()
    focusRow(to)
  }
  const onFocus = ({ target }: FocusEvent): void => {
    const row = target.closest<HTMLElement>('[data-row-index]')
    if (row) setActive(Number(row.dataset['rowIndex']))
  }
  return { active, onKeyDown, onFocus }
}

/** The row that a key moves to; undefined for other keys. */
export function rowDestination(key: string, from: number, last: number): number | undefined {
  const { to } = MOVES.find((move) => move.key === key) ?? {}
  return to === undefined ? undefined : Math.max(0, Math.min(to(from), last))
}

function rowAt(scroller: HTMLElement | null, index: number): HTMLElement | null {
  return scroller?.querySelector<HTMLElement>(`[data-row-index="${index}"]`) ?? null
}
