import { createContext, useCallback, useMemo, useState } from 'react'

/** The rows that are selected in a list, by their keys. */
export interface Selection {
  readonly keys: ReadonlySet<string>
  readonly toggle: (key: string) => void
  readonly select: (keys: readonly string[]) => void
}

/** How many rows a selection may have. */
export const MAX_SELECTED = 100

/** The selection of the list around a cell; undefined outside of such a list. */
export const SelectionOfList = createContext<Selection | undefined>(undefined)

/** A selection of at most {@link MAX_SELECTED} rows. */
export function useSelection(): Selection {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback((key: string) => {
    setKeys((before) => {
      const after = new Set(before)
      if (!after.delete(key) && after.size < MAX_SELECTED) after.add(key)
      return after
    })
  }, [])
  const select = useCallback((wanted: readonly string[]) => setKeys(new Set(wanted.slice(0, MAX_SELECTED))), [])
  return useMemo(() => ({ keys, toggle, select }), [keys, toggle, select])
}
