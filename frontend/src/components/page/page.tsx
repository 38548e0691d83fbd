import { Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { rememberedSearch } from '../../list-addresses.ts'
import { common } from '../../strings/everywhere/common.ts'
import { ListPlace } from './list-place.ts'
import classes from './page.module.css'
import { focusLoadedPage } from './page-focus.ts'
import { isolatedText } from '../text/visible/visible-text.ts'

/** A step above the page; `to` is a whole path. */
export interface Crumb {
  readonly label: string
  readonly to: string
}

export interface PageProps {
  /** Title of the page and of the window. */
  readonly title: string
  /** Next to the title: badges, a copy button. */
  readonly aside?: ReactNode
  /** One line under the title. */
  readonly lead?: ReactNode
  readonly crumbs?: readonly Crumb[]
  readonly actions?: ReactNode
  /** Takes the height of the window, so that a list inside scrolls instead of the page. */
  readonly fill?: boolean
  readonly children?: ReactNode
}

/** The layout of every page: breadcrumbs, title, actions and content. */
export function Page({ title, aside, lead, crumbs, actions, fill = false, children }: PageProps) {
  useDocumentTitle(isolatedText(`${title} · ${common.product}`))
  const heading = useRef<HTMLHeadingElement>(null)
  const [place, setPlace] = useState<HTMLElement | null>(null)
  useEffect(() => focusLoadedPage(heading.current), [])
  return (
    <div className={fill ? `${classes.page} ${classes.fill}` : classes.page}>
      <header className={classes.head}>
        <div className={classes.titles}>
          {crumbs && <Crumbs crumbs={crumbs} />}
          <div className={classes.title}>
            <Title ref={heading} order={1}>
              {title}
            </Title>
            {aside}
          </div>
          {lead && <p className={classes.lead}>{lead}</p>}
        </div>
        <div className={classes.actions}>
          {actions}
          <div ref={setPlace} className={classes.place} />
        </div>
      </header>
      <ListPlace value={place ?? undefined}>
        <div className={classes.content}>{children}</div>
      </ListPlace>
    </div>
  )
}

function Crumbs({ crumbs }: { readonly crumbs: readonly Crumb[] }) {
  return (
    <nav aria-label={common.breadcrumbs}>
      <ol className={classes.crumbs}>
        {crumbs.map(({ label, to }) => (
          <li key={to}>
            {/* the router knows no fields of most pages */}
            <Link to={to} search={rememberedSearch(to) as never}>
              {label}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}
