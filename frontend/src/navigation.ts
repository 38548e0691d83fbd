import type { ComponentType } from 'react'
import type { Role } from './api/types.ts'

/** A navigation entry; each feature exports its own with its routes. */
export interface NavEntry {
  /** Target path; the entry is highlighted on every path below it. */
  readonly to: string
  /** More paths below which the entry is highlighted. */
  readonly also?: readonly string[]
  readonly label: string
  readonly icon: ComponentType
  readonly section: 'lakehouse' | 'pipelines' | 'service'
  /** The minimum role; default: every role. */
  readonly minRole?: Role
  /** A hook that decides whether the entry is shown; default: always. */
  readonly useShown?: () => boolean
  /** A hook that returns the number in the badge; 0 and undefined show no badge. */
  readonly useBadge?: () => NavBadge | undefined
}

export interface NavBadge {
  readonly count: number
  /** Label for screen readers, such as `3 pending approvals`. */
  readonly label: string
}
