import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Page } from '../../components/page/page.tsx'
import { settingsStrings as strings } from '../../strings/settings.ts'
import classes from './settings.module.css'

const TABS = [
  { to: '/settings/catalog', label: strings.tabs.catalog },
  { to: '/settings/tokens', label: strings.tabs.tokens },
  { to: '/settings/grants', label: strings.tabs.grants },
  { to: '/settings/alerts', label: strings.tabs.alerts },
  { to: '/settings/about', label: strings.tabs.about },
] as const

interface SettingsFrameProps {
  readonly tab: keyof typeof strings.tabs
  readonly lead?: string
  readonly actions?: ReactNode
  readonly fill?: boolean
  readonly children: ReactNode
}

/** The layout of the settings: tabs, and the open page. */
export function SettingsFrame({ tab, lead, actions, fill = false, children }: SettingsFrameProps) {
  return (
    <Page title={strings.pageTitle(strings.tabs[tab])} fill={fill}>
      <nav aria-label={strings.title} className={classes.tabs}>
        {TABS.map(({ to, label }) => (
          <Link key={to} to={to} activeProps={{ 'aria-current': 'page' }}>
            {label}
          </Link>
        ))}
      </nav>
      {lead || actions ? (
        <div className={classes.bar}>
          <p className={classes.dimmed}>{lead}</p>
          {actions}
        </div>
      ) : undefined}
      {children}
    </Page>
  )
}
