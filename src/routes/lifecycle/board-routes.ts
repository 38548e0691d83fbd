import { board, boardQuery } from '../../schemas/definitions.ts'
import type { BoardService } from '../../services/lifecycle/board-service.ts'
import { type Route, route } from '../routing/route.ts'

/** Definitions across environments. */
export function boardRoutes({ board: boards }: { readonly board: BoardService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/pipeline-board',
      operationId: 'getPipelineBoard',
      reach: 'filtered',
      summary: 'Definitions, newest first, with the newest version in each environment and pending moves',
      minRole: 'Auditor',
      query: boardQuery,
      responses: { 200: { description: 'A page of definitions', schema: board } },
      refuses: [404],
    }).handle(async ({ query: { definition_id: id, ...page }, caller }) => {
      if (id !== undefined) await caller.access?.requireObject({ kind: 'definition', id }, 'Auditor')
      const { items, next_page_token } = await boards.list(id, page, caller)
      return { status: 200, body: { success: true, definitions: items, next_page_token } }
    }),
  ]
}
