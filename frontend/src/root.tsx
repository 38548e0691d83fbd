import { createRootRoute, redirect } from '@tanstack/react-router'
import { ApiError } from './api/api-error.ts'
import { queryClient } from './api/query-client.ts'
import { meQuery } from './api/session.ts'
import { NotFound } from './layout/route-states.tsx'

/** The route above all pages: it asks who the caller is, and sends nobody to sign in. */
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

/** The root as features take it. */
export type Root = typeof rootRoute
