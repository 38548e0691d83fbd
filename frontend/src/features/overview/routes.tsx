import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { OverviewIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const overviewNav: readonly NavEntry[] = [
  { to: '/overview', label: labels.overview, icon: OverviewIcon, section: 'lakehouse' },
]

interface OverviewSearch {
  /** The name of a catalog, whose tables are counted. */
  readonly catalog?: string
}

function parseOverviewSearch({ catalog }: Readonly<Record<string, unknown>>): OverviewSearch {
  return typeof catalog === 'string' && catalog !== '' ? { catalog } : {}
}

/** Pages of this feature. */
export function overviewRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/overview',
      validateSearch: parseOverviewSearch,
      component: lazyRouteComponent(() => import('./overview-page.tsx'), 'OverviewPage'),
    }),
  ] as const
}
