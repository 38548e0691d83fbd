import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { AgentIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'

/** Navigation to this feature. */
export const agentNav: readonly NavEntry[] = [
  { to: '/agent', label: labels.agent, icon: AgentIcon, section: 'service', minRole: 'DataEngineer' },
]

/** Pages of this feature. */
export function agentRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/agent',
      component: lazyRouteComponent(() => import('./agent-page.tsx'), 'AgentPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/agent/$chat',
      component: lazyRouteComponent(() => import('./agent-page.tsx'), 'AgentPage'),
    }),
  ] as const
}
