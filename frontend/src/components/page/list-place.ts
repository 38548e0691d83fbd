import { createContext } from 'react'

/** The element of a page's header for the menu of its list; undefined until the header is drawn. */
export const ListPlace = createContext<HTMLElement | undefined>(undefined)
