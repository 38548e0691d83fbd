import { createContext, useContext } from 'react'

/** Whether a component is in the table row that is a tab stop; undefined outside of tables. */
export const RowActive = createContext<boolean | undefined>(undefined)

/** `tabIndex` of a control that may be in a table: only controls of the current row are tab stops. */
export function useRowTabIndex(): 0 | -1 {
  return useContext(RowActive) === false ? -1 : 0
}
