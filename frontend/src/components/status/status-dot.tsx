import classes from './status-dot.module.css'

export type StatusTone = 'ok' | 'warn' | 'bad' | 'active' | 'idle'

/** A state as a colored dot with its name, so that color is not the only signal. */
export function StatusDot({ tone, label }: { readonly tone: StatusTone; readonly label: string }) {
  return (
    <span className={`${classes.status} ${classes[tone]}`}>
      <span className={classes.dot} aria-hidden="true" />
      {label}
    </span>
  )
}
