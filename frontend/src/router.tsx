import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { lazy } from 'react'
import { focusPage } from './components/page/page-focus.ts'
import { agentNav, agentRoutes } from './features/agent/routes.tsx'
import { approvalsNav, approvalsRoutes } from './features/approvals/routes.tsx'
import { designerNav, designerRoutes } from './features/designer/routes.tsx'
import { environmentsNav, environmentsRoutes } from './features/environments/routes.tsx'
import { inboxNav, inboxRoutes } from './features/inbox/routes.tsx'
import { lineageNav, lineageRoutes } from './features/lineage/routes.tsx'
import { notebooksNav, notebooksRoutes } from './features/notebooks/routes.tsx'
import { operationsNav, operationsRoutes } from './features/operations/routes.tsx'
import { overviewNav, overviewRoutes } from './features/overview/routes.tsx'
import { policiesNav, policiesRoutes } from './features/policies/routes.tsx'
import { pipelinesNav, pipelinesRoutes } from './features/pipelines/routes.tsx'
import { queryNav, queryRoutes } from './features/query/routes.tsx'
import { quarantineNav, quarantineRoutes } from './features/quarantine/routes.tsx'
import { settingsNav, settingsRoutes } from './features/settings/routes.tsx'
import { tablesNav, tablesRoutes } from './features/tables/routes.tsx'
import { AppLayout } from './layout/app-layout.tsx'
import { RouteError } from './layout/route-states.tsx'
import { rememberSearch } from './list-addresses.ts'
import { rootRoute } from './root.tsx'
import { formatSearchParams, parseSearchParams } from './search-params.ts'
import { BASE_PATH } from './base-path.ts'

const NAV = [
  ...overviewNav,
  ...inboxNav,
  ...tablesNav,
  ...lineageNav,
  ...queryNav,
  ...agentNav,
  ...notebooksNav,
  ...policiesNav,
  ...operationsNav,
  ...quarantineNav,
  ...pipelinesNav,
  ...designerNav,
  ...environmentsNav,
  ...approvalsNav,
  ...settingsNav,
]

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

rootRoute.update({ component: () => <AppLayout entries={NAV} palette={Palette} /> })

/** Why the sign-in page is shown: what ended, or why a sign-in at the identity provider failed. */
const SIGN_IN_REASONS = ['ended', 'link', 'expired', 'denied', 'invalid', 'no-role', 'unavailable'] as const

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>) => ({
    next: typeof search['next'] === 'string' ? search['next'] : undefined,
    why: SIGN_IN_REASONS.find((reason) => reason === search['why']),
  }),
  component: lazyRouteComponent(() => import('./layout/sign-in-page.tsx'), 'SignInPage'),
})

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/overview' })
  },
})

const routeTree = rootRoute.addChildren([
  homeRoute,
  signInRoute,
  ...overviewRoutes(rootRoute),
  ...inboxRoutes(rootRoute),
  ...tablesRoutes(rootRoute),
  ...lineageRoutes(rootRoute),
  ...queryRoutes(rootRoute),
  ...pipelinesRoutes(rootRoute),
  ...designerRoutes(rootRoute),
  ...environmentsRoutes(rootRoute),
  ...approvalsRoutes(rootRoute),
  ...agentRoutes(rootRoute),
  ...notebooksRoutes(rootRoute),
  ...policiesRoutes(rootRoute),
  ...operationsRoutes(rootRoute),
  ...quarantineRoutes(rootRoute),
  ...settingsRoutes(rootRoute),
])

/** The routes of the page; the code of a page loads when it is first shown, or when the pointer is on a link to it. */
export function createPageRouter() {
  const router = createRouter({
    routeTree,
    basepath: BASE_PATH === '' ? '/' : BASE_PATH,
    parseSearch: parseSearchParams,
    stringifySearch: formatSearchParams,
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultErrorComponent: RouteError,
    scrollRestoration: true,
    scrollToTopSelectors: ['#main'],
  })
  router.subscribe('onResolved', ({ toLocation: { pathname, search } }) => rememberSearch(pathname, search))
  router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
    if (fromLocation !== undefined && pathChanged) focusPage()
  })
  return router
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPageRouter>
  }
}
