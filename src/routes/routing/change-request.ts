import type { ChangeRequest } from '../../domain/change-request.ts'
import { ifMatch } from './entity-tag.ts'
import { requestContext, type RouteInput } from './route.ts'

/** The query of a request that changes something which files may describe (docs/api.md#managed-objects). */
interface ChangeQuery {
  readonly managed_by?: string | undefined
  readonly adopt?: boolean | undefined
}

/** Who changes something, for which owner, and which version of it they have read. */
export function readChangeRequest(
  input: Pick<RouteInput<never, ChangeQuery, never>, 'caller' | 'exchange' | 'query'>,
): ChangeRequest {
  const { managed_by: name, adopt = false } = input.query
  return {
    context: requestContext(input),
    precondition: ifMatch(input.exchange.headers),
    manager: { name, adopts: adopt },
  }
}
