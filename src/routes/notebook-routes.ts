import { noCluster } from '../domain/errors.ts'
import { emptyRequest } from '../schemas/definitions.ts'
import { notebookStatus, startNotebookRequest } from '../schemas/notebooks.ts'
import type { NotebookService } from '../services/notebooks/notebook-service.ts'
import { requestContext, type Route, route } from './routing/route.ts'

/** The caller's notebook (docs/api.md#notebooks); the routes exist where there is a cluster. */
export function notebookRoutes({ notebooks }: { readonly notebooks: NotebookService }): Route[] {
  const unavailable = () => (notebooks.available() ? undefined : noCluster())
  return [
    route({
      method: 'post',
      path: '/api/notebook/start',
      operationId: 'startNotebook',
      reach: 'none',
      summary: 'Start your notebook, or return the running one',
      minRole: 'DataEngineer',
      unavailable,
      body: startNotebookRequest,
      responses: { 200: { description: 'The notebook; it may be pending for a while', schema: notebookStatus } },
      refuses: [422, 504],
    }).handle(async (input) => ({ status: 200, body: await notebooks.start(input.body, requestContext(input)) })),
    route({
      method: 'post',
      path: '/api/notebook/stop',
      operationId: 'stopNotebook',
      reach: 'none',
      summary: 'Stop your notebook, if there is one',
      minRole: 'DataEngineer',
      unavailable,
      body: emptyRequest,
      responses: { 204: { description: 'Stopped' } },
      refuses: [422, 504],
    }).handle(async (input) => {
      await notebooks.stop(requestContext(input))
      return { status: 204 }
    }),
    route({
      method: 'get',
      path: '/api/notebook/status',
      operationId: 'getNotebookStatus',
      reach: 'none',
      summary: 'Current status of your notebook',
      minRole: 'DataEngineer',
      unavailable,
      responses: { 200: { description: 'The notebook', schema: notebookStatus } },
      refuses: [422, 504],
    }).handle(async (input) => ({ status: 200, body: await notebooks.status(requestContext(input)) })),
  ]
}
