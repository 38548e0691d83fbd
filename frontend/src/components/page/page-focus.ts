/**
 * Moves the focus to the title of the page that a navigation led to, so that a screen reader reads it and Tab goes on from
 * there. While the page is still loading, the focus waits on `main`. A field that stays in use keeps the focus.
 */
export function focusPage(): void {
  if (document.activeElement?.closest('main :is(input, textarea, select)')) return
  focus(document.querySelector<HTMLElement>('main h1') ?? document.querySelector('main'))
}

/** Moves the focus to the title of a page that was loading while `focusPage` was called. */
export function focusLoadedPage(title: HTMLElement | null): void {
  if (document.activeElement?.matches('main')) focus(title)
}

function focus(element: HTMLElement | null): void {
  if (element === null) return
  element.tabIndex = -1
  element.focus({ preventScroll: true })
}
