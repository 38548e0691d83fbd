import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { SettingsIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const settingsNav: readonly NavEntry[] = [
  { to: '/settings/catalog', label: labels.settings, icon: SettingsIcon, section: 'service', also: ['/settings'] },
]

/** Pages of this feature. */
export function settingsRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/settings',
      beforeLoad: () => {
        throw redirect({ to: '/settings/catalog' })
      },
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/settings/about',
      component: lazyRouteComponent(() => import('./about-page.tsx'), 'AboutPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/settings/catalog',
      component: lazyRouteComponent(() => import('./catalog/page.tsx'), 'CatalogPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/settings/tokens',
      component: lazyRouteComponent(() => import('./tokens/tokens-page.tsx'), 'TokensPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/settings/grants',
      component: lazyRouteComponent(() => import('./grants/grants-page.tsx'), 'GrantsPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/settings/alerts',
      component: lazyRouteComponent(() => import('./alerts/alerts-page.tsx'), 'AlertsPage'),
    }),
  ] as const
}
