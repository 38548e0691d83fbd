import classes from './status-dot.module.css'

export type StatusTone = 'ok' | 'warn' | 'bad' | 'active' | 'idle'

/** A state as a coloured dot with its word, so that colour is never all that says it. */
export function StatusDot({ tone, label }: { readonly tone: StatusTone; readonly label: string }) {
  return (
    <span className={`${classes.status} ${classes[tone]}`}>
      <span className={classes.dot} aria-hidden="true" />
      {label}
    </span>
  )
}
