import type { ReactNode } from 'react'
import classes from './figure.module.css'

export interface FigureProps {
  readonly label: string
  /** With its unit. */
  readonly value: ReactNode
  readonly hint?: ReactNode
  readonly tone?: 'ok' | 'warn' | 'bad'
}

/** A list of figures in a row that wraps. */
export function FigureRow({ children }: { readonly children: ReactNode }) {
  return <dl className={classes.row}>{children}</dl>
}

/** One number with its name, inside a `FigureRow`. */
export function Figure({ label, value, hint, tone }: FigureProps) {
  return (
    <div className={classes.figure}>
      <dt>{label}</dt>
      <dd>
        <span className={tone && classes[tone]}>{value}</span>
        {hint && <div className={classes.hint}>{hint}</div>}
      </dd>
    </div>
  )
}
