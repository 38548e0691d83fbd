import { DomainError } from '../../domain/errors.ts'
import type { SignedInUser } from '../../domain/roles.ts'
import { createdToken, createTokenRequest, tokenList, tokenParams, whoAmI } from '../../schemas/auth.ts'
import { pageQuery } from '../../schemas/common.ts'
import { whoIs } from '../../services/identity/access/identity-with-access.ts'
import type { TokenService } from '../../services/identity/token-service.ts'
import { nextPageLink } from '../routing/next-page-link.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

/** The caller's identity, and tokens (docs/api.md#identity). */
export function authRoutes({ tokens }: { readonly tokens: TokenService }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/auth/me',
      operationId: 'whoAmI',
      reach: 'none',
      summary: 'The current user',
      minRole: 'Auditor',
      responses: { 200: { description: 'User and role', schema: whoAmI } },
    }).handle(async ({ caller }) => ({ status: 200, body: whoIs(caller) })),
    route({
      method: 'get',
      path: '/api/auth/tokens',
      operationId: 'listTokens',
      summary: 'Tokens, newest first, without their secrets',
      minRole: 'LeadDataEngineer',
      query: pageQuery,
      responses: { 200: { description: 'A page of tokens; the next one is in `Link`', schema: tokenList } },
    }).handle(async ({ query }) => {
      const { items, next_page_token } = await tokens.list(query)
      return { status: 200, body: items, headers: nextPageLink('/api/auth/tokens', query, next_page_token) }
    }),
    route({
      method: 'post',
      path: '/api/auth/tokens',
      operationId: 'createToken',
      summary: 'Create a token for a user with a role; a session alone is refused, so send a token too',
      minRole: 'LeadDataEngineer',
      body: createTokenRequest,
      responses: { 201: { description: 'The token, shown once', schema: createdToken } },
    }).handle(async (input) => {
      requireToken(input.caller)
      const body = await tokens.create(input.body, requestContext(input))
      return { status: 201, body, headers: { 'Cache-Control': 'no-store' } }
    }),
    route({
      method: 'delete',
      path: '/api/auth/tokens/{token_id}',
      operationId: 'revokeToken',
      summary: 'Revoke a token',
      minRole: 'LeadDataEngineer',
      params: tokenParams,
      responses: { 204: { description: 'Revoked' } },
    }).handle(async (input) => {
      await tokens.revoke(input.params.token_id, requestContext(input))
      return { status: 204 }
    }),
  ]
}

/**
 * Refuses a caller who has only the cookie of a session: every document of the service's origin can use the cookie, but
 * only the person knows the token. Throws `FORBIDDEN`.
 */
function requireToken({ via }: SignedInUser): void {
  if (via !== 'session') return
  throw new DomainError(
    'FORBIDDEN',
    'a session may not create tokens: send your token as well, as Authorization: Bearer <token>',
  )
}
