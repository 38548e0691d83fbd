import { useSearchParams } from './use-search-params.ts'

/** The dialog of a page that is open, and a function that opens another one, or none. */
type OpenDialog<Name extends string> = readonly [name: Name | undefined, open: (name: Name | undefined) => void]

/** The open dialog of a page. Its name is in the address, as `action`, so that links and the quick search can open it. */
export function useDialog<Name extends string>(names: readonly Name[]): OpenDialog<Name> {
  const [{ action }, changeSearch] = useSearchParams()
  return [names.find((name) => name === action), (name) => changeSearch({ action: name })]
}
