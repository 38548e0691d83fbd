import { auditList, auditVerification, exportAuditQuery, listAuditQuery } from '../../schemas/governance.ts'
import type { AuditLog } from '../../services/audit/audit-log.ts'
import { nextPageLink } from '../routing/next-page-link.ts'
import { type Route, route, stillAllowed } from '../routing/route.ts'

/** The audit log (docs/api.md#audit-log). */
export function auditRoutes({ auditLog }: { readonly auditLog: AuditLog }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/audit',
      operationId: 'listAudit',
      summary: 'Changes and denials, newest first',
      minRole: 'LeadDataEngineer',
      query: listAuditQuery,
      responses: { 200: { description: 'A page of entries; the next one is in `Link`', schema: auditList } },
    }).handle(async ({ query }) => {
      const { items, next_page_token } = await auditLog.list(filterOf(query), query)
      return { status: 200, body: items, headers: nextPageLink('/api/audit', query, next_page_token) }
    }),
    route({
      method: 'get',
      path: '/api/audit/export',
      operationId: 'exportAudit',
      summary: 'The audit log as JSON lines with its hash chain, oldest first',
      minRole: 'LeadDataEngineer',
      query: exportAuditQuery,
      responses: {
        200: { description: 'One entry per line; the last line has `end: true`', contentType: 'application/x-ndjson' },
      },
    }).handle(async (input) => {
      const { after_seq: afterSeq, ...range } = input.query
      const isAllowed = stillAllowed(input, 'LeadDataEngineer')
      return new Response(auditLog.export({ ...filterOf(range), afterSeq }, isAllowed), {
        headers: {
          'Content-Type': 'application/x-ndjson',
          'Content-Disposition': 'attachment; filename="audit.ndjson"',
          'Cache-Control': 'no-store',
        },
      })
    }),
    route({
      method: 'get',
      path: '/api/audit/verify',
      operationId: 'verifyAudit',
      summary: 'Verify that the audit log is complete and unchanged',
      minRole: 'LeadDataEngineer',
      responses: { 200: { description: 'The outcome', schema: auditVerification } },
    }).handle(async () => ({ status: 200, body: await auditLog.verify() })),
  ]
}

interface AuditQuery {
  readonly actor?: string | undefined
  readonly object?: string | undefined
  readonly object_type?: string | undefined
  readonly action?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

function filterOf({ actor, object, object_type: objectType, action, from, to }: AuditQuery) {
  return {
    ...(actor === undefined ? {} : { actor }),
    ...(object === undefined ? {} : { object }),
    ...(objectType === undefined ? {} : { objectType }),
    ...(action === undefined ? {} : { action }),
    ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
  }
}
