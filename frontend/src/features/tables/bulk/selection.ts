import { createContext, useCallback, useMemo, useState } from 'react'

/** The tables that are selected in a list. */
export interface Selection {
  readonly tables: ReadonlySet<string>
  readonly toggle: (table: string) => void
  readonly select: (tables: readonly string[]) => void
}

/** How many tables one plan may have. */
export const MAX_SELECTED = 100

/** The selection of the list around a cell; undefined outside of such a list. */
export const SelectionOfList = createContext<Selection | undefined>(undefined)

/** A selection of at most {@link MAX_SELECTED} tables. */
export function useSelection(): Selection {
  const [tables, setTables] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback((table: string) => {
    setTables((before) => {
      const after = new Set(before)
      if (!after.delete(table) && after.size < MAX_SELECTED) after.add(table)
      return after
    })
  }, [])
  const select = useCallback((names: readonly string[]) => setTables(new Set(names.slice(0, MAX_SELECTED))), [])
  return useMemo(() => ({ tables, toggle, select }), [tables, toggle, select])
}
