import { createRootRoute, redirect } from '@tanstack/react-router'
import { ApiError } from './api/api-error.ts'
import { queryClient } from './api/query-client.ts'
import { meQuery } from './api/session.ts'
import { NotFound } from './layout/route-states.tsx'

/** The root route: loads the signed-in user, or redirects to the sign-in page. */
export const rootRoute = createRootRoute({
  notFoundComponent: NotFound,
  beforeLoad: async ({ location }) => {
    if (location.pathname === '/sign-in') return
    try {
      await queryClient.ensureQueryData(meQuery)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      throw redirect({ to: '/sign-in', search: { next: location.href, why: undefined } })
    }
  },
})

/** The root route, typed for the features. */
export type Root = typeof rootRoute
