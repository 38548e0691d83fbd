import type { Gate as GateState } from '../board.ts'
import classes from './gate.module.css'

interface GateProps {
  readonly kind: GateState['kind']
  readonly isWaiting: boolean
  readonly label: string
  /** Edge in px; default 40. */
  readonly size?: number
}

/**
 * Icon of a gate between two environments: open, or closed while it needs an approval or a lead. A filled area means that
 * a request is pending.
 */
export function Gate({ kind, isWaiting, label, size = 40 }: GateProps) {
  const look = isWaiting ? classes.waiting : kind === 'open' ? classes.open : classes.guarded
  return (
    <svg
      className={`${classes.gate} ${look}`}
      width={size}
      height={size}
      viewBox="0 0 40 40"
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      {isWaiting && <path className={classes.water} d="M2 6h12l9 14-9 14H2z" />}
      <path className={classes.wall} d="M2 5h36M2 35h36" />
      {kind === 'open' && !isWaiting ? (
        <path className={classes.leaf} d="M14 6 30 9M14 34l16-3" />
      ) : (
        <path className={classes.leaf} d="M14 6 23 20 14 34" />
      )}
      <path className={classes.hinge} d="M14 6h.01M14 34h.01" />
    </svg>
  )
}
