import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { NotebookIcon } from '../../components/icons.tsx'
import type { NavEntry } from '../../navigation.ts'
import type { Root } from '../../root.tsx'

/** Navigation to this feature. */
export const notebooksNav: readonly NavEntry[] = [
  { to: '/notebooks', label: 'Notebooks', icon: NotebookIcon, section: 'lakehouse', minRole: 'DataEngineer' },
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
