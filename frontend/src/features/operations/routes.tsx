import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { AuditIcon, OperationsIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const operationsNav: readonly NavEntry[] = [
  { to: '/operations', label: labels.operations, icon: OperationsIcon, section: 'lakehouse' },
  { to: '/audit', label: labels.audit, icon: AuditIcon, section: 'service', minRole: 'LeadDataEngineer' },
]

/** Pages of this feature. */
export function operationsRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/operations',
      component: lazyRouteComponent(() => import('./operations-page.tsx'), 'OperationsPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/operations/savings',
      component: lazyRouteComponent(() => import('./savings/savings-page.tsx'), 'SavingsPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/operations/$id',
      component: lazyRouteComponent(() => import('./operation-page.tsx'), 'OperationPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/audit',
      component: lazyRouteComponent(() => import('./audit/page.tsx'), 'AuditPage'),
    }),
  ] as const
}
