import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { OverviewIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const overviewNav: readonly NavEntry[] = [
  { to: '/overview', label: labels.overview, icon: OverviewIcon, section: 'lakehouse' },
]

/** Pages of this feature. */
export function overviewRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/overview',
      component: lazyRouteComponent(() => import('./overview-page.tsx'), 'OverviewPage'),
    }),
  ] as const
}
