import type { RequestContext } from './audit.ts'
import { DomainError } from './errors.ts'
import type { Precondition } from './precondition.ts'

/** For whom a request changes something: the owner of files that describe objects, or a person. */
export interface Manager {
  /** The owner; undefined: a person. */
  readonly name: string | undefined
  /** Whether the request takes the object over from whoever has it. */
  readonly adopts: boolean
}

/** Who changes something, and which version of it they expect. */
export interface ChangeRequest {
  readonly context: RequestContext
  readonly precondition?: Precondition | undefined
  /** Default: a person, who takes nothing over. */
  readonly manager?: Manager | undefined
}

/** A response value and the version of the resource that it shows, for `If-Match`. */
export interface Versioned<T> {
  readonly value: T
  readonly tag: string | number
}

/**
 * Who has an object after a change. Throws `MANAGED` when somebody else has it, and the request does not take it over.
 * The one rule for definitions, environments, policies and alerts (docs/api.md#managed-objects).
 */
export function requireManager(
  managedBy: string | undefined,
  { name, adopts }: Manager = { name: undefined, adopts: false },
): string | undefined {
  if (adopts || name === managedBy) return name
  const remedy =
    managedBy === undefined ? 'take it over with adopt=true' : 'change it there, or take it over with adopt=true'
  throw new DomainError(
    'MANAGED',
    `the object is managed by ${managedBy ?? 'nobody'}${name === undefined ? '' : `, not by ${name}`}: ${remedy}`,
  )
}

/** What the audit log says of a change of the owner. */
export function managerChange(before: string | undefined, after: string | undefined) {
  return before === after ? {} : { managed_by: { from: before ?? null, to: after ?? null } }
}
