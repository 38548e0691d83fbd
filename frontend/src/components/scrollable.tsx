import type { ReactNode } from 'react'

export interface ScrollableProps {
  /** Label of the scrollable area, for screen readers. */
  readonly label: string
  readonly className?: string | undefined
  readonly children: ReactNode
}

/** A scrollable area that can be focused and scrolled by keyboard (WCAG 2.2, 2.1.1). */
export function Scrollable({ label, className, children }: ScrollableProps) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={className} role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  )
}
