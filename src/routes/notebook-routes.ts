import { emptyRequest } from '../schemas/definitions.ts'
import { notebookStatus, startNotebookRequest } from '../schemas/notebooks.ts'
import type { NotebookService } from '../services/notebooks/notebook-service.ts'
import { requestContext, type Route, route } from './route.ts'

/** The caller's notebook (spec, section 4); the routes exist where there is a cluster. */
export function notebookRoutes({ notebooks }: { readonly notebooks: NotebookService }): Route[] {
  const available = (): boolean => notebooks.available()
  return [
    route({
      method: 'post',
      path: '/api/notebook/start',
      operationId: 'startNotebook',
      summary: 'Start a notebook of your own, or find the one that there is',
      minRole: 'DataEngineer',
      available,
      body: startNotebookRequest,
      responses: { 200: { description: 'The notebook; it may be pending for a while', schema: notebookStatus } },
      refuses: [422, 504],
      handle: async (input) => ({ status: 200, body: await notebooks.start(input.body, requestContext(input)) }),
    }),
    route({
      method: 'post',
      path: '/api/notebook/stop',
      operationId: 'stopNotebook',
      summary: 'Stop your notebook; without one there is nothing to do',
      minRole: 'DataEngineer',
      available,
      body: emptyRequest,
      responses: { 204: { description: 'There is no notebook any more' } },
      refuses: [422, 504],
      handle: async (input) => {
        await notebooks.stop(requestContext(input))
        return { status: 204 }
      },
    }),
    route({
      method: 'get',
      path: '/api/notebook/status',
      operationId: 'getNotebookStatus',
      summary: 'How your notebook is, as the cluster tells it now',
      minRole: 'DataEngineer',
      available,
      responses: { 200: { description: 'The notebook', schema: notebookStatus } },
      refuses: [422, 504],
      handle: async (input) => ({ status: 200, body: await notebooks.status(requestContext(input)) }),
    }),
  ]
}
