import { ActionIcon, Divider, Drawer, Group } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { LogoMark } from '../components/logo.tsx'
import { MenuIcon, SearchIcon } from '../components/icons.tsx'
import type { NavEntry } from '../navigation.ts'
import { common } from '../strings/shared/common.ts'
import { shell } from '../strings/shared/shell.ts'
import classes from './app-layout.module.css'
import { CatalogName } from './catalog-name.tsx'
import { DemoNotice } from './demo-notice.tsx'
import { keepEarlyKeys } from './early-keys.ts'
import { NavList } from './nav-list.tsx'
import { SearchButton } from './search-button.tsx'
import { quickSearch } from './search-store.ts'
import { UserMenu } from './user-menu.tsx'

const QuickSearch = lazy(async () => ({ default: (await import('./quick-search.tsx')).QuickSearch }))

/** The layout of every page: navigation at the side, on phones in a drawer, and the quick search. */
export function AppLayout({ entries }: { readonly entries: readonly NavEntry[] }) {
  const signingIn = useRouterState({ select: ({ location }) => location.pathname === '/sign-in' })
  if (!signingIn) return <Frame entries={entries} />
  return (
    <main className={classes.bare}>
      <Outlet />
    </main>
  )
}

function Frame({ entries }: { readonly entries: readonly NavEntry[] }) {
  const [drawer, drawerState] = useDisclosure(false)
  const [searched, setSearched] = useState(false)
  const search = (): void => {
    keepEarlyKeys()
    if (searched) quickSearch.open()
    else setSearched(true) // it opens itself when it is loaded
  }
  useHotkeys([['/', search]])
  useHotkeys([['mod+K', search]], [], true) // also inside fields
  return (
    <div className={classes.frame}>
      <a className={classes.skip} href="#main" onClick={skipToMain}>
        {shell.skip}
      </a>
      <PhoneBar onMenu={drawerState.open} onSearch={search} />
      <nav className={classes.side} aria-label={shell.navigation}>
        <Brand />
        <CatalogName />
        <SearchButton onClick={search} />
        <NavList entries={entries} />
        <UserMenu />
      </nav>
      <Drawer
        opened={drawer}
        onClose={drawerState.close}
        size={260}
        title={common.product}
        closeButtonProps={{ 'aria-label': common.close }}
      >
        <nav aria-label={shell.navigation}>
          <CatalogName onNavigate={drawerState.close} />
          <NavList entries={entries} onNavigate={drawerState.close} />
        </nav>
        <Divider my="sm" />
        <UserMenu />
      </Drawer>
      <main id="main" className={classes.main} tabIndex={-1}>
        <DemoNotice />
        <Outlet />
      </main>
      {searched && (
        <Suspense fallback={null}>
          <QuickSearch entries={entries} />
        </Suspense>
      )}
    </div>
  )
}

/** Does not change the URL, because a hash could be part of the page's own URL. */
function skipToMain(event: { preventDefault: () => void }): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

function PhoneBar({ onMenu, onSearch }: { readonly onMenu: () => void; readonly onSearch: () => void }) {
  return (
    <nav className={classes.top} aria-label={shell.bar}>
      <Group gap={4} wrap="nowrap">
        <ActionIcon size={36} aria-label={shell.openNavigation} onClick={onMenu}>
          <MenuIcon size={18} />
        </ActionIcon>
        <Brand />
      </Group>
      <ActionIcon size={36} aria-label={shell.searchLabel} onClick={onSearch}>
        <SearchIcon size={18} />
      </ActionIcon>
    </nav>
  )
}

function Brand() {
  return (
    <Link to="/tables" className={classes.brand}>
      <LogoMark />
      {common.product}
    </Link>
  )
}
