import type { ComponentType } from 'react'
import type { Role } from './api/types.ts'

/** An entry of the navigation; a feature exports its own beside its routes. */
export interface NavEntry {
  /** Where it leads; it is current on every address below. */
  readonly to: string
  /** More addresses below which it is current. */
  readonly also?: readonly string[]
  readonly label: string
  readonly icon: ComponentType
  readonly section: 'lakehouse' | 'pipelines' | 'service'
  /** Shown from this role on; default: everybody. */
  readonly minRole?: Role
  /** A hook that says whether the entry is of use here; default: always. */
  readonly useShown?: () => boolean
  /** A hook that gives what waits behind the entry; 0 and undefined show nothing. */
  readonly useBadge?: () => NavBadge | undefined
}

export interface NavBadge {
  readonly count: number
  /** For those who cannot see where it stands: `3 requests wait`. */
  readonly label: string
}
