import { useNavigate, useSearch } from '@tanstack/react-router'

/** Query parameters; undefined removes a parameter. */
export type SearchChange = Readonly<Record<string, string | undefined>>

/** The query parameters of the URL, and a function that changes some of them without a new history entry. */
export function useSearchParams(): readonly [SearchChange, (change: SearchChange) => void] {
  const search: SearchChange = useSearch({ strict: false })
  const navigate = useNavigate()
  const change = (part: SearchChange): void => {
    const merged = (before: object): never => ({ ...before, ...part }) as never // the router knows no fields of most pages
    void navigate({ to: '.', search: merged, replace: true, resetScroll: false })
  }
  return [search, change]
}
