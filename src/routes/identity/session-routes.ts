import { serialize } from 'hono/utils/cookie'
import { sessionCookie, sessionSecret } from '../../middleware/authenticate.ts'
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
      return {
        status: 201,
        body: whoIs(opened.caller),
        headers: setCookie(opened.secret, { secure: exchange.isSecure }),
      }
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
      const secret = secretOf(input.exchange)
      if (secret !== undefined) await identity.endSession(secret, requestContext(input))
      return { status: 204, headers: setCookie('', { secure: input.exchange.isSecure, maxAge: 0 }) }
    }),
  ]
}

function secretOf(exchange: Exchange): string | undefined {
  return sessionSecret(exchange.header('cookie'), exchange)
}

function setCookie(value: string, options: { secure: boolean; maxAge?: number }): Record<string, string> {
  const name = sessionCookie({ isSecure: options.secure })
  const cookie = serialize(name, value, { ...options, path: '/', httpOnly: true, sameSite: 'Strict' })
  return { 'Set-Cookie': cookie, 'Cache-Control': 'no-store' }
}
