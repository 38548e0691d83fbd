import type { Gate as GateState } from './board.ts'
import classes from './gate.module.css'

interface GateProps {
  readonly kind: GateState['kind']
  readonly isWaiting: boolean
  readonly label: string
  /** Edge in px; default 40. */
  readonly size?: number
}

/**
 * A lock gate seen from above: two walls, and two leaves that lie along them when it is open or meet against the
 * stream when it is closed. Filled water before a gate says that somebody waits.
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
      {isWaiting && <path className={classes.water} d="M2 6h16l6 14-6 14H2z" />}
      <path className={classes.wall} d="M2 5h36M2 35h36" />
      {kind === 'open' && !isWaiting ? (
        <path className={classes.leaf} d="M14 8.5h16M14 31.5h16" />
      ) : (
        <path className={classes.leaf} d="M16 6 24 20 16 34" />
      )}
    </svg>
  )
}
