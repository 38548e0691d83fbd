import { ActionIcon, Divider, Drawer, Group } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { type ComponentType, lazy, Suspense, useState } from 'react'
import { LogoMark } from '../components/logo.tsx'
import { MenuIcon, SearchIcon } from '../components/icons.tsx'
import type { NavEntry } from '../navigation.ts'
import { common } from '../strings/everywhere/common.ts'
import { useShortcuts } from '../components/shortcuts/use-shortcuts.ts'
import { shell } from '../strings/everywhere/shell.ts'
import { shortcuts } from '../strings/everywhere/shortcuts.ts'
import classes from './app-layout.module.css'
import { CatalogName } from './catalog-name.tsx'
import { DemoNotice } from './demo-notice.tsx'
import { keepEarlyKeys } from './search/early-keys.ts'
import { BarLink } from './bar-link.tsx'
import { NavList } from './nav-list.tsx'
import { SearchButton } from './search/search-button.tsx'
import { quickSearch } from './search/search-store.ts'
import { showShortcuts, useShortcutsShown } from './shortcuts/shortcut-store.ts'
import { useMyEntries } from './use-my-entries.ts'
import { UserMenu } from './user-menu.tsx'

const ShortcutHelp = lazy(async () => ({ default: (await import('./shortcuts/shortcut-help.tsx')).ShortcutHelp }))

interface AppLayoutProps {
  readonly entries: readonly NavEntry[]
  /** The quick search, which loads when it is first opened. */
  readonly palette: ComponentType<{ readonly entries: readonly NavEntry[] }>
}

/** The layout of every page: navigation at the side, on phones in a drawer, and the quick search. */
export function AppLayout({ entries, palette }: AppLayoutProps) {
  const signingIn = useRouterState({ select: ({ location }) => location.pathname === '/sign-in' })
  if (!signingIn) return <Frame entries={entries} palette={palette} />
  return (
    <main className={classes.bare}>
      <Outlet />
    </main>
  )
}

function Frame({ entries, palette: Palette }: AppLayoutProps) {
  const [drawer, drawerState] = useDisclosure(false)
  const [searched, setSearched] = useState(false)
  const search = (): void => {
    keepEarlyKeys()
    if (searched) quickSearch.open()
    else setSearched(true) // it opens itself when it is loaded
  }
  useShortcuts(shortcuts.everywhere.place, [
    { keys: ['/'], label: shortcuts.everywhere.search, run: search },
    { keys: ['mod+K'], label: shortcuts.everywhere.search, run: search, inFields: true },
    { keys: ['?'], label: shortcuts.everywhere.help, run: showShortcuts },
  ])
  const isHelpShown = useShortcutsShown()
  return (
    <div className={classes.frame}>
      <a className={classes.skip} href="#main" onClick={skipToMain}>
        {shell.skip}
      </a>
      <PhoneBar entries={entries} onMenu={drawerState.open} onSearch={search} />
      <nav className={classes.side} aria-label={shell.navigation}>
        <Brand />
        <CatalogName />
        <SearchButton onClick={search} />
        <NavList entries={entries} />
        <UserMenu />
      </nav>
      <Drawer opened={drawer} onClose={drawerState.close} size={260} title={common.product}>
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
          <Palette entries={entries} />
        </Suspense>
      )}
      {isHelpShown && (
        <Suspense fallback={null}>
          <ShortcutHelp />
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

interface PhoneBarProps {
  readonly entries: readonly NavEntry[]
  readonly onMenu: () => void
  readonly onSearch: () => void
}

function PhoneBar({ entries, onMenu, onSearch }: PhoneBarProps) {
  const inBar = useMyEntries(entries).filter((entry) => entry.inBar)
  return (
    <nav className={classes.top} aria-label={shell.bar}>
      <Group gap={4} wrap="nowrap">
        <ActionIcon size={36} aria-label={shell.openNavigation} onClick={onMenu}>
          <MenuIcon size={18} />
        </ActionIcon>
        <Brand />
      </Group>
      <Group gap={4} wrap="nowrap">
        {inBar.map((entry) => (
          <BarLink key={entry.to} entry={entry} />
        ))}
        <ActionIcon size={36} aria-label={shell.searchLabel} onClick={onSearch}>
          <SearchIcon size={18} />
        </ActionIcon>
      </Group>
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
