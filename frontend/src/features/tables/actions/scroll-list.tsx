import type { ReactNode } from 'react'
import classes from './action-drawer.module.css'

interface ScrollListProps {
  readonly title: string
  /** Lines of three: a column, its type, and what happens to it. */
  readonly columns?: boolean
  readonly children: ReactNode
}

/** A list under its title that scrolls when it is long, by keyboard too. */
export function ScrollList({ title, columns = false, children }: ScrollListProps) {
  return (
    <section>
      <h3>{title}</h3>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <ul className={columns ? `${classes.list} ${classes.columns}` : classes.list} aria-label={title} tabIndex={0}>
        {children}
      </ul>
    </section>
  )
}
