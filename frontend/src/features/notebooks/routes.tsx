import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { NotebookIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'
import { labels } from '../../strings/everywhere/labels.ts'
import { useHasCluster } from './api.ts'

/** Navigation to this feature. */
export const notebooksNav: readonly NavEntry[] = [
  {
    to: '/notebooks',
    label: labels.notebooks,
    icon: NotebookIcon,
    section: 'lakehouse',
    minRole: 'DataEngineer',
    useShown: useHasCluster,
  },
]

/** Pages of this feature. */
export function notebooksRoutes(root: Root) {
  return [
    createRoute({
      getParentRoute: () => root,
      path: '/notebooks',
      component: lazyRouteComponent(() => import('./notebooks-page.tsx'), 'NotebooksPage'),
    }),
  ] as const
}
