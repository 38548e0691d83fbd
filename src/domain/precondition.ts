import { DomainError } from './errors.ts'

/** What a caller demands of the state that it wants to change, by its version: see `requireVersion`. */
export type Precondition = (version: string) => boolean

/** Throws `PRECONDITION_FAILED` when there is a precondition and `version`, the current one, does not meet it. */
export function requireVersion(precondition: Precondition | undefined, version: string | number): void {
  if (precondition === undefined || precondition(String(version))) return
  throw new DomainError('PRECONDITION_FAILED', 'it was changed since you read it: read it again, then decide')
}
