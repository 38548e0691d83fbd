import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { LineageIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'
import { parseLineageSearch } from './search.ts'

/** Navigation to this feature. */
export const lineageNav: readonly NavEntry[] = [
  { to: '/lineage', label: labels.lineage, icon: LineageIcon, section: 'lakehouse' },
]

/** The lineage page; what it shows is in the address. */
export function lineageRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/lineage',
      validateSearch: parseLineageSearch,
      component: lazyRouteComponent(() => import('./lineage-page.tsx'), 'LineagePage'),
    }),
  ] as const
}
