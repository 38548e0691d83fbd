import { getHotkeyHandler, useHotkeys } from '@mantine/hooks'
import { type KeyboardEvent, useEffect } from 'react'
import { type Shortcut, shortcutRegistry } from './registry.ts'

/** A shortcut of the whole page. */
export interface PageShortcut extends Shortcut {
  readonly run: () => void
  /** Whether the keys also work while a field has the focus. */
  readonly inFields?: boolean
}

/** Handles keys anywhere on the page while the component is mounted, and lists them in the help. */
export function useShortcuts(place: string, shortcuts: readonly PageShortcut[]): void {
  const bound = (inFields: boolean): [string, () => void][] =>
    shortcuts
      .filter((shortcut) => (shortcut.inFields ?? false) === inFields)
      .flatMap(({ keys, run }) => keys.flatMap(withShift).map((key): [string, () => void] => [key, run]))
  useHotkeys(bound(false))
  useHotkeys(bound(true), [], true)
  useShortcutHelp(place, shortcuts)
}

/** Lists shortcuts that the element with the focus handles itself. */
export function useShortcutHelp(place: string, shortcuts: readonly Shortcut[]): void {
  const text = JSON.stringify(shortcuts.map(({ keys, label }) => ({ keys, label })))
  useEffect(() => {
    const listed = JSON.parse(text) as readonly Shortcut[]
    return listed.length === 0 ? undefined : shortcutRegistry.register({ place, shortcuts: listed })
  }, [place, text])
}

/** Some keyboards have a sign such as `/` or `?` only together with Shift. */
function withShift(key: string): readonly string[] {
  return /^[^a-z0-9]$/i.test(key) ? [key, `shift+${key}`] : [key]
}

/** Handles keys of one field while it has the focus, and lists them in the help; returns the `onKeyDown` of the field. */
export function useFieldShortcuts(place: string, shortcuts: readonly PageShortcut[]) {
  useShortcutHelp(place, shortcuts)
  const handle = getHotkeyHandler(
    shortcuts.flatMap(({ keys, run }) => keys.map((key): [string, () => void] => [key, run])),
  )
  return (event: KeyboardEvent<HTMLElement>): void => {
    if (!event.nativeEvent.isComposing) handle(event)
  }
}
