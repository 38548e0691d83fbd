import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { TablesIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'

/** Navigation to this feature. */
export const tablesNav: readonly NavEntry[] = [
  { to: '/tables', label: 'Tables', icon: TablesIcon, section: 'lakehouse' },
]

/** Pages of this feature. */
export function tablesRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/tables',
      component: lazyRouteComponent(() => import('./tables-page.tsx'), 'TablesPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/tables/$table',
      component: lazyRouteComponent(() => import('./table-page.tsx'), 'TablePage'),
    }),
  ] as const
}
