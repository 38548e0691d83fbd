import type { ReactNode } from 'react'
import { InfoIcon, WarningIcon } from './icons.tsx'
import classes from './note.module.css'

export interface NoteProps {
  /** How much it matters; the icon says it too. */
  readonly tone: 'info' | 'warn' | 'bad'
  readonly title?: ReactNode
  readonly children?: ReactNode
  readonly action?: ReactNode
  /** `alert` is read out at once, `status` when there is time; default: when somebody comes by. */
  readonly live?: 'alert' | 'status'
}

/** Something worth knowing, in the flow of a page: quiet, with a coloured edge. */
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
