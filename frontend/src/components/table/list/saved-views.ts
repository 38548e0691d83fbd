import { useMemo } from 'react'
import { useMe } from '../../../api/session.ts'
import { savedViewsKey } from '../../../api/stored-keys.ts'
import { readStored, useStored, writeStored } from '../../../api/stored-text.ts'

/** A view of a list under a name. */
export interface SavedView {
  readonly name: string
  /** Parameters of the address. */
  readonly search: Readonly<Record<string, string>>
}

type Views = Readonly<Record<string, readonly SavedView[]>>

/** Views that one list may have. */
export const MAX_VIEWS = 50

/** The views of all lists in a stored text, without parts that this page did not write. */
export function parseViews(text: string | null): Views {
  try {
    const stored: unknown = JSON.parse(text ?? '{}')
    if (!isRecord(stored)) return {}
    const lists = Object.entries(stored).map(([list, views]) => [
      list,
      Array.isArray(views) ? views.filter(isView) : [],
    ])
    return Object.fromEntries(lists) as Views
  } catch {
    return {}
  }
}

/** The views with one more, by name; a view of the same name is replaced. */
export function withView(views: readonly SavedView[], view: SavedView): readonly SavedView[] {
  return [...views.filter(({ name }) => name !== view.name), view].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isView(value: unknown): value is SavedView {
  if (!isRecord(value) || typeof value['name'] !== 'string' || !isRecord(value['search'])) return false
  return Object.values(value['search']).every((each) => typeof each === 'string')
}

/** The views of a list that the signed-in user saved in this browser, and a function that stores others in their place. */
export function useSavedViews(list: string) {
  const key = savedViewsKey(useMe()?.user ?? '')
  const text = useStored(key)
  const views = useMemo(() => parseViews(text)[list] ?? [], [text, list])
  /** False: the browser stores nothing, and the views last until the page is closed. */
  const store = (next: readonly SavedView[]): boolean =>
    writeStored(key, JSON.stringify({ ...parseViews(readStored(key)), [list]: next }))
  return { views, store }
}
