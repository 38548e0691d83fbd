import { useRouter } from '@tanstack/react-router'
import type { MouseEvent, ReactNode } from 'react'
import { serviceAddress } from '../../base-path.ts'
import { useRowTabIndex } from '../row-active.ts'
import classes from './row-link.module.css'

export interface RowLinkProps {
  /** A path of the page, encoded. */
  readonly path: string
  readonly title?: string
  readonly children: ReactNode
}

/**
 * The link of a row in a long list: much cheaper to draw than a `Link`, which works out its address and whether it is
 * current whenever anything about the address changes.
 */
export function RowLink({ path, title, children }: RowLinkProps) {
  const router = useRouter()
  const address = serviceAddress(path)
  const tabIndex = useRowTabIndex()
  const go = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    router.history.push(address)
  }
  return (
    <a href={address} title={title} className={classes.link} tabIndex={tabIndex} onClick={go}>
      {children}
    </a>
  )
}
