import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { usePendingApprovalsBadge } from './pending-approvals.ts'
import { ApprovalIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const approvalsNav: readonly NavEntry[] = [
  {
    to: '/approvals',
    label: labels.approvals,
    icon: ApprovalIcon,
    section: 'pipelines',
    minRole: 'DataEngineer',
    useBadge: usePendingApprovalsBadge,
  },
]

/** Pages of this feature. */
export function approvalsRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/approvals',
      component: lazyRouteComponent(() => import('./approvals-page.tsx'), 'ApprovalsPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/approvals/$id',
      component: lazyRouteComponent(() => import('./request-page.tsx'), 'RequestPage'),
    }),
  ] as const
}
