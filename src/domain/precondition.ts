import { DomainError } from './errors.ts'

/** A condition of the caller on the version of the state that it wants to change: see `requireVersion`. */
export type Precondition = (version: string) => boolean

/** Throws `PRECONDITION_FAILED` when there is a precondition and `version`, the current one, does not meet it. */
export function requireVersion(precondition: Precondition | undefined, version: string | number): void {
  if (precondition === undefined || precondition(String(version))) return
  throw new DomainError(
    'PRECONDITION_FAILED',
    'the resource was changed since you read it: read it again, then repeat the request',
  )
}
