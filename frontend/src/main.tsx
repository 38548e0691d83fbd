import { MantineProvider } from '@mantine/core'
import { notifications, Notifications } from '@mantine/notifications'
import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { onSessionEnded, queryClient } from './api/query-client.ts'
import { followLink, meQuery } from './api/session.ts'
import './global.css'
import { LinkDialog } from './layout/link-dialog.tsx'
import { createPageRouter } from './router.tsx'
import { signIn as words } from './strings/everywhere/shell.ts'
import { cssVariables, theme } from './theme.ts'
import { pagePath } from './base-path.ts'

const root = document.querySelector('#root')
if (root === null) throw new Error('index.html has no #root')

const link = await followLink()
const router = createPageRouter()
onSessionEnded(() => {
  // The root route redirects users who never signed in, so no message about an expired session is shown.
  const wasSignedIn = queryClient.getQueryData(meQuery.queryKey) !== undefined
  if (!wasSignedIn || router.state.location.pathname === '/sign-in') return
  const next = router.state.location.href
  queryClient.clear()
  void router.navigate({ to: '/sign-in', search: { next, why: 'ended' } })
})
if (link.kind === 'refused') {
  if (link.current) notifications.show({ color: 'red', message: words.linkIgnored(link.current.user) })
  else
    void router.navigate({
      to: '/sign-in',
      search: { next: pagePath(location.pathname) + location.search, why: 'link' },
    })
}

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <Notifications position="bottom-right" limit={4} />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        {link.kind === 'ask' && <LinkDialog link={link} />}
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
