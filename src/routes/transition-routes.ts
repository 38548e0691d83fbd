import type { Transition } from '../domain/environments.ts'
import type { Role } from '../domain/roles.ts'
import { approval } from '../schemas/approvals.ts'
import { emptyRequest, version, versionParams } from '../schemas/definitions.ts'
import type { PromotionService } from '../services/lifecycle/promotion-service.ts'
import { requestContext, type Route, route } from './route.ts'

interface TransitionRoute {
  readonly minRole: Role
  readonly summary: string
}

const TRANSITION_ROUTES: Readonly<Record<Transition, TransitionRoute>> = {
  promote: { minRole: 'DataEngineer', summary: 'Development to qa at once; qa to uat to production by approval' },
  demote: { minRole: 'LeadDataEngineer', summary: 'Uat back to qa' },
  retire: { minRole: 'LeadDataEngineer', summary: 'Production to retired' },
}

/** Moves of a version between environments (spec, section 4, "Environment transitions"). */
export function transitionRoutes({ promotions }: { readonly promotions: PromotionService }): Route[] {
  return [
    transitionRoute(promotions, 'promote', { 202: { description: 'The approval request it needs', schema: approval } }),
    transitionRoute(promotions, 'demote', {}),
    transitionRoute(promotions, 'retire', {}),
  ]
}

function transitionRoute(promotions: PromotionService, transition: Transition, accepted: Route['responses']): Route {
  return route({
    method: 'post',
    path: `/api/pipeline-defs/{def_id}/versions/{ver_id}/${transition}`,
    operationId: `${transition}Version`,
    ...TRANSITION_ROUTES[transition],
    params: versionParams,
    body: emptyRequest,
    responses: { 200: { description: 'The version, where it is now', schema: version }, ...accepted },
    handle: async (input) => {
      const { def_id: definitionId, ver_id: versionId } = input.params
      const outcome = await promotions.run(transition, { definitionId, versionId }, requestContext(input))
      if (outcome.kind === 'moved') return { status: 200, body: outcome.version }
      return { status: 202, body: outcome.approval, headers: { Location: `/api/approvals/${outcome.approval.id}` } }
    },
  })
}
