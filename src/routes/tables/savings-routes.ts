import { savingsQuery, savingsReport } from '../../schemas/tables/savings.ts'
import type { SavingsService } from '../../services/operations/savings/savings-service.ts'
import { type Route, route } from '../routing/route.ts'

/** What operations cost and gained (docs/api.md#savings). */
export function savingsRoutes({ savings }: { readonly savings: SavingsService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/savings',
      operationId: 'getSavings',
      summary: 'What operations on tables cost and gained, by day, kind and requester',
      reach: 'filtered',
      minRole: 'Auditor',
      query: savingsQuery,
      responses: { 200: { description: 'Sums over the receipts of the ledger', schema: savingsReport } },
      refuses: [422, 503],
    }).handle(async ({ query, caller }) => ({ status: 200, body: await savings.report(query, caller) })),
  ]
}
