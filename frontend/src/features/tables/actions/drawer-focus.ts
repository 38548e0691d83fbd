import { type RefObject, useEffect } from 'react'

/** Moves the focus to the drawer when the step with the focused element ends. */
export function useFocusAtStep(drawer: RefObject<HTMLElement | null>, step: string): void {
  useEffect(() => {
    if (document.activeElement === document.body) drawer.current?.focus()
  }, [drawer, step])
}

/** When the drawer closes, returns the focus to the button or menu that opened it. */
export function useFocusReturned(): void {
  useEffect(() => {
    const opener = openerOf(document.activeElement)
    return () => {
      // Once the drawer has left the page; the browser has then moved the focus to nowhere.
      setTimeout(() => {
        const target = opener?.isConnected === true ? opener : document.querySelector('main')
        if (document.activeElement === document.body && target instanceof HTMLElement) target.focus()
      })
    }
  }, [])
}

/** A menu leaves the page with its items: its button stays. */
function openerOf(active: Element | null): Element | null {
  const label = active?.closest('[role="menu"]')?.getAttribute('aria-labelledby')
  if (label) return document.getElementById(label)
  return active === document.body ? null : active
}
