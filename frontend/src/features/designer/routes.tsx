import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { DesignerIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'

/** Navigation to this feature. */
export const designerNav: readonly NavEntry[] = [
  { to: '/definitions', label: 'Definitions', icon: DesignerIcon, section: 'pipelines' },
]

/** Pages of this feature. */
export function designerRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/definitions',
      component: lazyRouteComponent(() => import('./definitions/definitions-page.tsx'), 'DefinitionsPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/definitions/$id',
      component: lazyRouteComponent(() => import('./definitions/definition-page.tsx'), 'DefinitionPage'),
    }),
  ] as const
}
