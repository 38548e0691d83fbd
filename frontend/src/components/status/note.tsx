import type { ReactNode } from 'react'
import { InfoIcon, WarningIcon } from '../icons.tsx'
import classes from './note.module.css'

export interface NoteProps {
  /** The severity; it selects the color and the icon. */
  readonly tone: 'info' | 'warn' | 'bad'
  readonly title?: ReactNode
  readonly children?: ReactNode
  readonly action?: ReactNode
  /** Screen readers announce `alert` immediately and `status` when idle; default: no announcement. */
  readonly live?: 'alert' | 'status'
}

/** A note in the flow of a page, with a colored edge. */
export function Note({ tone, title, children, action, live }: NoteProps) {
  return (
    <div className={`${classes.note} ${classes[tone]}`} role={live ?? 'note'}>
      <span className={classes.icon}>{tone === 'info' ? <InfoIcon /> : <WarningIcon />}</span>
      <div className={classes.text}>
        {title && <strong>{title}</strong>}
        {children && <div>{children}</div>}
      </div>
      {action}
    </div>
  )
}
