import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { QuarantineIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const quarantineNav: readonly NavEntry[] = [
  { to: '/quarantine', label: labels.quarantine, icon: QuarantineIcon, section: 'lakehouse' },
]

/** Pages of this feature. */
export function quarantineRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/quarantine',
      component: lazyRouteComponent(() => import('./quarantine-page.tsx'), 'QuarantinePage'),
    }),
  ] as const
}
