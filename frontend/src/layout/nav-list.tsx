import { Link, useRouterState } from '@tanstack/react-router'
import type { NavEntry } from '../navigation.ts'
import { shell } from '../strings/everywhere/shell.ts'
import { NavCount } from './nav-count.tsx'
import classes from './nav-list.module.css'
import { useMyEntries } from './use-my-entries.ts'

const SECTIONS: readonly NavEntry['section'][] = ['lakehouse', 'pipelines', 'service']

interface NavListProps {
  readonly entries: readonly NavEntry[]
  readonly onNavigate?: () => void
}

/** The pages that the caller's role may open, in sections. */
export function NavList({ entries, onNavigate }: NavListProps) {
  const mine = useMyEntries(entries)
  return (
    <div className={classes.nav}>
      {SECTIONS.map((section) => (
        <div key={section}>
          <p className={classes.section} id={`nav-${section}`}>
            {shell.sections[section]}
          </p>
          <ul className={classes.list} aria-labelledby={`nav-${section}`}>
            {mine
              .filter((entry) => entry.section === section)
              .map((entry) => (
                <NavItem key={entry.to} entry={entry} onNavigate={onNavigate} />
              ))}
          </ul>
        </div>
      ))}
    </div>
  )
}

const nothing = (): undefined => undefined

function NavItem({ entry, onNavigate }: { readonly entry: NavEntry; readonly onNavigate: (() => void) | undefined }) {
  const { to, also = [], label, icon: Icon, useBadge = nothing } = entry
  const badge = useBadge()
  const current = useRouterState({
    select: ({ location }) => [to, ...also].some((path) => isBelow(location.pathname, path)),
  })
  return (
    <li>
      <Link to={to} className={classes.link} aria-current={current ? 'page' : undefined} onClick={onNavigate}>
        <Icon />
        {label}
        <NavCount badge={badge} className={classes.badge} />
      </Link>
    </li>
  )
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(`${path}/`)
}
