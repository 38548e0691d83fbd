import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { TablesIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { tables } from '../../strings/tables.ts'
import { parseListSearch, parseTableSearch } from './search.ts'

/** Navigation to this feature. */
export const tablesNav: readonly NavEntry[] = [
  { to: '/tables', label: tables.title, icon: TablesIcon, section: 'lakehouse' },
]

/** Pages of this feature. */
export function tablesRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/tables',
      validateSearch: parseListSearch,
      component: lazyRouteComponent(() => import('./tables-page.tsx'), 'TablesPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/tables/$table',
      validateSearch: parseTableSearch,
      component: lazyRouteComponent(() => import('./table-page.tsx'), 'TablePage'),
    }),
  ] as const
}
