import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { PipelineIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'

/** Navigation to this feature. */
export const pipelinesNav: readonly NavEntry[] = [
  { to: '/pipelines', label: 'Pipelines', icon: PipelineIcon, section: 'pipelines' },
]

/** Pages of this feature. */
export function pipelinesRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/pipelines',
      component: lazyRouteComponent(() => import('./pipelines-page.tsx'), 'PipelinesPage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/pipelines/new',
      component: lazyRouteComponent(() => import('./start/page.tsx'), 'StartPipelinePage'),
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/pipelines/$id',
      component: lazyRouteComponent(() => import('./pipeline-page.tsx'), 'PipelinePage'),
    }),
  ] as const
}
