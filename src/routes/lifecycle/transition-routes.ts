import { approval } from '../../schemas/approvals.ts'
import { emptyRequest, version, versionParams } from '../../schemas/definitions.ts'
import type { PromotionService } from '../../services/lifecycle/promotion-service.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

const MOVED = { description: 'The version in its new environment', schema: version }

/** Moves of a version between environments (docs/api.md#environments). */
export function transitionRoutes({ promotions }: { readonly promotions: PromotionService }): Route[] {
  return [
    route({
      method: 'post',
      path: '/api/pipeline-defs/{def_id}/versions/{ver_id}/promote',
      operationId: 'promoteVersion',
      reach: 'filtered',
      summary: 'Promote a version: development to qa immediately, qa to uat and uat to production by approval',
      minRole: 'DataEngineer',
      params: versionParams,
      body: emptyRequest,
      responses: { 200: MOVED, 202: { description: 'The approval request it needs', schema: approval } },
    }).handle(async (input) => {
      const { def_id: definitionId, ver_id: versionId } = input.params
      await input.caller.access?.requireObject({ kind: 'move', id: versionId }, 'DataEngineer')
      const outcome = await promotions.promote({ definitionId, versionId }, requestContext(input))
      if (outcome.kind === 'moved') return { status: 200, body: outcome.version }
      return { status: 202, body: outcome.approval, headers: { Location: `/api/approvals/${outcome.approval.id}` } }
    }),
    withdrawalRoute(promotions, 'demote', 'Move a version from uat back to qa'),
    withdrawalRoute(promotions, 'retire', 'Retire a version in production'),
  ]
}

function withdrawalRoute(promotions: PromotionService, transition: 'demote' | 'retire', summary: string): Route {
  return route({
    method: 'post',
    path: `/api/pipeline-defs/{def_id}/versions/{ver_id}/${transition}`,
    operationId: `${transition}Version`,
    summary,
    minRole: 'LeadDataEngineer',
    params: versionParams,
    body: emptyRequest,
    responses: { 200: MOVED },
  }).handle(async (input) => {
    const { def_id: definitionId, ver_id: versionId } = input.params
    const moved = await promotions.withdraw(transition, { definitionId, versionId }, requestContext(input))
    return { status: 200, body: moved }
  })
}
