import type { ReactNode } from 'react'
import { common } from '../../strings/everywhere/common.ts'
import classes from './notice.module.css'
import { CheckIcon, CloseIcon, InfoIcon, WarningIcon } from '../icons.tsx'

export type NoticeTone = 'info' | 'ok' | 'warn' | 'bad'

export interface NoticeProps {
  readonly tone: NoticeTone
  readonly title?: ReactNode
  readonly children?: ReactNode
  /** `alert` interrupts screen readers, `status` does not; default: `alert` for errors, else `status`. */
  readonly role?: 'alert' | 'status'
  /** Shows a button that closes it. */
  readonly onClose?: () => void
}

const ICONS = { info: InfoIcon, ok: CheckIcon, warn: WarningIcon, bad: WarningIcon } as const

/** A message inside a page. */
export function Notice({ tone, title, children, role = tone === 'bad' ? 'alert' : 'status', onClose }: NoticeProps) {
  const Icon = ICONS[tone]
  return (
    <div className={`${classes.notice} ${classes[tone]}`} role={role}>
      <span className={classes.icon}>
        <Icon />
      </span>
      <div className={classes.body}>
        {title ? <strong>{title}</strong> : undefined}
        {children ? <div>{children}</div> : undefined}
      </div>
      {onClose ? (
        <button type="button" className={classes.close} aria-label={common.close} onClick={onClose}>
          <CloseIcon size={14} />
        </button>
      ) : undefined}
    </div>
  )
}
