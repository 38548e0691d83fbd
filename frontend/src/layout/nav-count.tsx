import { VisuallyHidden } from '@mantine/core'
import type { NavBadge } from '../navigation.ts'

interface NavCountProps {
  readonly badge: NavBadge | undefined
  readonly className: string | undefined
}

/** The number next to a navigation entry; nothing for 0. */
export function NavCount({ badge, className }: NavCountProps) {
  if (badge === undefined || badge.count === 0) return null
  return (
    <span className={className}>
      <span aria-hidden="true">{badge.count > 99 ? '99+' : badge.count}</span>
      <VisuallyHidden>{badge.label}</VisuallyHidden>
    </span>
  )
}
