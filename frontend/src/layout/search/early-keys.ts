import { SEARCH_FIELD, searchStore } from './search-store.ts'

/** After this many milliseconds without a field the search did not load, and keys are for the page again. */
const LONGEST_WAIT_MS = 20_000

let stop: (() => void) | undefined

/** Keeps what is typed for the quick search until its field has the focus, because it loads and opens meanwhile. */
export function keepEarlyKeys(): void {
  stop?.()
  const controller = new AbortController()
  const timer = setTimeout(() => stop?.(), LONGEST_WAIT_MS)
  stop = () => {
    clearTimeout(timer)
    controller.abort()
    stop = undefined
  }
  const { signal } = controller
  addEventListener('keydown', keep, { capture: true, signal })
  addEventListener('pointerdown', stop, { capture: true, signal })
}

/** Whether the search is still awaited: not after Escape. */
export function isSearchAwaited(): boolean {
  return stop !== undefined
}

function keep(event: KeyboardEvent): void {
  if (document.activeElement?.id === SEARCH_FIELD) return stop?.()
  if (!isForSearch(event)) return
  const { key } = event
  if (key === 'Escape') stop?.()
  else if (key === 'Backspace') type((text) => text.slice(0, -1))
  else if (key !== 'Enter') type((text) => text + key)
  event.preventDefault()
  event.stopPropagation()
}

/** Whether the field of the search would use the key; Enter is kept from what is behind it. */
function isForSearch({ key, ctrlKey, metaKey, altKey, isComposing }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey || isComposing) return false
  return /^.$/u.test(key) || key === 'Escape' || key === 'Backspace' || key === 'Enter'
}

function type(change: (text: string) => string): void {
  // tells the field, which may be drawn before it has the focus
  searchStore.setState((state) => ({ ...state, query: change(state.query) }))
}
