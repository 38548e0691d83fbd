import { serialize } from 'hono/utils/cookie'
import { presentedSession, sessionCookie, sessionSecret } from '../../middleware/authenticate.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import { openSessionRequest, whoAmI } from '../../schemas/auth.ts'
import { whoIs } from '../../services/identity/access/identity-with-access.ts'
import type { IdentityService } from '../../services/identity/identity-service.ts'
import { requestContext, publicRoute, type Route, route } from '../routing/route.ts'

/** Browser sessions (docs/api.md#identity): the page exchanges its token for a session cookie. */
export function sessionRoutes({ identity }: { readonly identity: IdentityService }): Route[] {
  return [
    publicRoute({
      method: 'post',
      path: '/api/auth/session',
      operationId: 'openSession',
      summary: 'Sign in with a token; the response sets the session cookie',
      body: openSessionRequest,
      responses: { 201: { description: 'Signed in', schema: whoAmI } },
    }).handle(async ({ body, exchange }) => {
      const previous = secretOf(exchange)
      const opened = await identity.openSession(
        { token: body.token, address: exchange.clientAddress },
        { requestId: exchange.requestId, ...(previous === undefined ? {} : { previous }) },
      )
      return { status: 201, body: whoIs(opened.caller), headers: sessionHeaders(exchange, opened.secret) }
    }),
    route({
      method: 'delete',
      path: '/api/auth/session',
      operationId: 'endSession',
      reach: 'none',
      summary: 'Sign out; the session ends immediately',
      minRole: 'Auditor',
      responses: { 204: { description: 'Signed out' } },
    }).handle(async (input) => {
      const secret = presentedSession(input.exchange)
      if (secret !== undefined) await identity.endSession(secret, requestContext(input))
      return { status: 204, headers: sessionHeaders(input.exchange, '') }
    }),
  ]
}

function secretOf(exchange: Exchange): string | undefined {
  return sessionSecret(exchange.header('cookie'), exchange)
}

/** The headers that store the secret of a session in the browser; an empty one deletes it. */
export function sessionHeaders({ isSecure: secure }: Exchange, secret: string): Record<string, string> {
  const age = secret === '' ? { maxAge: 0 } : {}
  const name = sessionCookie({ isSecure: secure })
  const cookie = serialize(name, secret, { secure, ...age, path: '/', httpOnly: true, sameSite: 'Strict' })
  return { 'Set-Cookie': cookie, 'Cache-Control': 'no-store' }
}
