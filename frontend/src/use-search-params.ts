import { useNavigate, useSearch } from '@tanstack/react-router'

/** Fields of the address's search; what is undefined is taken out of the address. */
export type SearchChange = Readonly<Record<string, string | undefined>>

/** What stands in the search of the address, and a way to change parts of it without a new entry in the history. */
export function useSearchParams(): readonly [SearchChange, (change: SearchChange) => void] {
  const search: SearchChange = useSearch({ strict: false })
  const navigate = useNavigate()
  const change = (part: SearchChange): void => {
    const merged = (before: object): never => ({ ...before, ...part }) as never // the router knows no fields of most pages
    void navigate({ to: '.', search: merged, replace: true, resetScroll: false })
  }
  return [search, change]
}
