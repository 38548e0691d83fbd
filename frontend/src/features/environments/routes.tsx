import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { EnvironmentIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const environmentsNav: readonly NavEntry[] = [
  { to: '/environments', label: labels.environments, icon: EnvironmentIcon, section: 'pipelines' },
]

/** Pages of this feature. */
export function environmentsRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/environments',
      component: lazyRouteComponent(() => import('./environments-page.tsx'), 'EnvironmentsPage'),
    }),
  ] as const
}
