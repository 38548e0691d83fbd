import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { SqlIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const queryNav: readonly NavEntry[] = [
  { to: '/query', label: labels.query, icon: SqlIcon, section: 'lakehouse', minRole: 'DataEngineer' },
]

/** The SQL page, with its query in the address. */
export function queryRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/query',
      validateSearch: ({ sql }: Readonly<Record<string, unknown>>): { readonly sql?: string } =>
        typeof sql === 'string' && sql !== '' ? { sql } : {},
      component: lazyRouteComponent(() => import('./query-page.tsx'), 'QueryPage'),
    }),
  ] as const
}
