import { parse, serialize } from 'hono/utils/cookie'
import { SESSION_COOKIE } from '../middleware/authenticate.ts'
import { openSessionRequest, whoAmI } from '../schemas/auth.ts'
import type { IdentityService } from '../services/identity/identity-service.ts'
import { requestContext, type Route, route } from './route.ts'

/** Browser sessions (contract, section 3): the page hands its token in once and goes on with a cookie. */
export function sessionRoutes({ identity }: { readonly identity: IdentityService }): Route[] {
  return [
    route({
      method: 'post',
      path: '/api/auth/session',
      operationId: 'openSession',
      summary: 'Sign in with a token; the answer sets the session cookie',
      minRole: 'none',
      body: openSessionRequest,
      responses: { 201: { description: 'Signed in', schema: whoAmI } },
      handle: async ({ body, headers, remoteAddress, requestId, secure }) => {
        const previous = sessionSecret(headers)
        const opened = await identity.openSession(
          { token: body.token, address: remoteAddress },
          { requestId, ...(previous === undefined ? {} : { previous }) },
        )
        return { status: 201, body: opened.caller, headers: setCookie(opened.secret, { secure }) }
      },
    }),
    route({
      method: 'delete',
      path: '/api/auth/session',
      operationId: 'endSession',
      summary: 'Sign out; the session is over at once',
      minRole: 'Auditor',
      responses: { 204: { description: 'Signed out' } },
      handle: async (input) => {
        const secret = sessionSecret(input.headers)
        if (secret !== undefined) await identity.endSession(secret, requestContext(input))
        return { status: 204, headers: setCookie('', { secure: input.secure, maxAge: 0 }) }
      },
    }),
  ]
}

function sessionSecret(headers: Headers): string | undefined {
  return parse(headers.get('cookie') ?? '', SESSION_COOKIE)[SESSION_COOKIE]
}

function setCookie(value: string, options: { secure: boolean; maxAge?: number }): Record<string, string> {
  const cookie = serialize(SESSION_COOKIE, value, { ...options, path: '/', httpOnly: true, sameSite: 'Strict' })
  return { 'Set-Cookie': cookie, 'Cache-Control': 'no-store' }
}
