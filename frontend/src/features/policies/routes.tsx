import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { PolicyIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const policiesNav: readonly NavEntry[] = [
  { to: '/policies', label: labels.policies, icon: PolicyIcon, section: 'lakehouse' },
]

/** Pages of this feature. */
export function policiesRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/policies',
      component: lazyRouteComponent(() => import('./policies-page.tsx'), 'PoliciesPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/policies/new',
      component: lazyRouteComponent(() => import('./edit-page.tsx'), 'NewPolicyPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/policies/$id',
      component: lazyRouteComponent(() => import('./policy-page.tsx'), 'PolicyPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/policies/$id/edit',
      component: lazyRouteComponent(() => import('./edit-page.tsx'), 'EditPolicyPage'),
    }),
  ] as const
}
