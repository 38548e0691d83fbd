import { useRouterState } from '@tanstack/react-router'

/** The parameter of the open page if the page belongs to a route, such as the table of `/tables/$table`; otherwise undefined. */
export function useOpenObject(route: `/${string}/$${string}`): string | undefined {
  return useRouterState({
    select: ({ matches }) => {
      const page = matches.at(-1)
      if (page?.routeId !== route) return undefined
      const params: Readonly<Record<string, string>> = page.params
      return params[route.slice(route.indexOf('$') + 1)]
    },
  })
}
