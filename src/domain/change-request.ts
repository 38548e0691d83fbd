import type { RequestContext } from './audit.ts'
import type { Precondition } from './precondition.ts'

/** Who changes something, and which version of it they expect. */
export interface ChangeRequest {
  readonly context: RequestContext
  readonly precondition?: Precondition | undefined
}

/** A response value and the version of the resource that it shows, for `If-Match`. */
export interface Versioned<T> {
  readonly value: T
  readonly tag: string | number
}
