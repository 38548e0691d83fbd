import { createContext, useContext } from 'react'

/** Whether a part stands in the row of a table that the Tab key reaches; undefined outside of tables. */
export const RowActive = createContext<boolean | undefined>(undefined)

/** `tabIndex` of a control that may stand in a table: of all rows, only the current one's controls are tab stops. */
export function useRowTabIndex(): 0 | -1 {
  return useContext(RowActive) === false ? -1 : 0
}
