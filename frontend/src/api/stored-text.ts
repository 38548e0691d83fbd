import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
/** What this visit stored where the browser allows no storage, by key. */
const unstored = new Map<string, string>()

/** The text that this browser keeps under a key; null if there is none. */
export function readStored(key: string): string | null {
  try {
    return unstored.get(key) ?? localStorage.getItem(key)
  } catch {
    return unstored.get(key) ?? null
  }
}

/** Keeps a text under a key. False: the browser allows no storage, and the text lasts until the page is closed. */
export function writeStored(key: string, text: string): boolean {
  let isStored = true
  try {
    localStorage.setItem(key, text)
    unstored.delete(key)
  } catch {
    unstored.set(key, text)
    isStored = false
  }
  for (const listener of listeners) listener()
  return isStored
}

/** The text under a key; the component is drawn again when this window or another one changes the text. */
export function useStored(key: string): string | null {
  return useSyncExternalStore(subscribe, () => readStored(key))
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  addEventListener('storage', listener) // of other windows
  return () => {
    listeners.delete(listener)
    removeEventListener('storage', listener)
  }
}
