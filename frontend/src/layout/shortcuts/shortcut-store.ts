import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let isShown = false

/** Opens the help for shortcuts. */
export function showShortcuts(): void {
  change(true)
}

/** Closes the help for shortcuts. */
export function hideShortcuts(): void {
  change(false)
}

/** Whether the help for shortcuts is open. */
export function useShortcutsShown(): boolean {
  return useSyncExternalStore(subscribe, () => isShown)
}

function change(next: boolean): void {
  isShown = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
