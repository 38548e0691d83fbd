import { useNavigate, useSearch } from '@tanstack/react-router'

/** Query parameters; undefined removes a parameter. */
export type SearchChange = Readonly<Record<string, string | undefined>>

/** Changes some query parameters: in the same entry of the browser's history (default), or in a new one. */
export type ChangeSearch = (change: SearchChange, how?: 'replace' | 'push') => void

/** The query parameters of the URL, and a function that changes some of them. */
export function useSearchParams(): readonly [SearchChange, ChangeSearch] {
  const search: SearchChange = useSearch({ strict: false })
  const navigate = useNavigate()
  const change: ChangeSearch = (part, how = 'replace') => {
    const merged = (before: object): never => ({ ...before, ...part }) as never // the router knows no fields of most pages
    void navigate({ to: '.', search: merged, replace: how === 'replace', resetScroll: false })
  }
  return [search, change]
}
