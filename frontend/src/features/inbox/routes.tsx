import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { InboxIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'
import { useInboxBadge } from './use-inbox.ts'

/** Navigation to this feature. */
export const inboxNav: readonly NavEntry[] = [
  {
    to: '/inbox',
    label: labels.inbox,
    icon: InboxIcon,
    section: 'lakehouse',
    minRole: 'DataEngineer',
    useBadge: useInboxBadge,
    inBar: true,
  },
]

/** Pages of this feature. */
export function inboxRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/inbox',
      component: lazyRouteComponent(() => import('./inbox-page.tsx'), 'InboxPage'),
    }),
  ] as const
}
