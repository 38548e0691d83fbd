import { type RefObject, useEffect } from 'react'

/** Gives the focus to the drawer when a step of it ends and takes what had the focus with it. */
export function useFocusAtStep(drawer: RefObject<HTMLElement | null>, step: string): void {
  useEffect(() => {
    if (document.activeElement === document.body) drawer.current?.focus()
  }, [drawer, step])
}

/** Gives the focus back, when the drawer is gone, to what opened it: a button, or the menu that it was chosen from. */
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
