import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { Caller } from '../domain/roles.ts'
import type { IdentityService } from '../services/identity/identity-service.ts'
import type { AppEnv } from './app-env.ts'

/** The cookie of a browser session. */
export const SESSION_COOKIE = 'lockhouse_session'

const LOCAL: Caller = { user: 'local', role: 'LeadDataEngineer', via: 'off' }
const BEARER = /^Bearer +([\x21-\x7e]+)$/i

export interface AuthenticateOptions {
  readonly mode: 'token' | 'off'
  readonly identity: IdentityService
  /** An `Authorization` scheme to ignore: a header with it counts as absent. */
  readonly foreignScheme?: string
  /** Recognizes a token of the configuration that is valid on these paths only. */
  readonly configured?: (token: string) => Caller | undefined
}

/**
 * Identifies the caller (docs/api.md#identity). An invalid token is refused even where none is needed; an expired session
 * counts as no session, so that the page can sign in again.
 */
export function authenticate({ mode, ...options }: AuthenticateOptions) {
  return createMiddleware<AppEnv>(async function identify(c, next) {
    const checkCaller = mode === 'off' ? async () => LOCAL : callerCheck(c, options)
    c.set('checkCaller', checkCaller)
    c.set('caller', await checkCaller())
    await next()
  })
}

/** Creates the check of a request's credential; it may outlive the request and holds nothing else of it. */
function callerCheck(
  c: Context<AppEnv>,
  { identity, foreignScheme, configured }: Omit<AuthenticateOptions, 'mode'>,
): () => Promise<Caller | undefined> {
  const token = bearerToken(c, foreignScheme)
  const address = c.get('clientAddress')
  const known = token === undefined ? undefined : configured?.(token)
  if (known !== undefined) return async () => known
  if (token !== undefined) return () => identity.checkToken({ token, address })
  const secret = onlyCookie(c.req.header('cookie'), SESSION_COOKIE)
  return async () => (secret ? identity.checkSession(secret) : undefined)
}

/** The token of the `Authorization` header or, in an upgrade, of the subprotocol `bearer.<token>`. */
function bearerToken(c: Context<AppEnv>, foreignScheme: string | undefined): string | undefined {
  const header = c.req.header('authorization')
  if (header !== undefined && header.split(' ')[0]?.toLowerCase() !== foreignScheme) {
    const token = BEARER.exec(header)?.[1]
    if (token !== undefined) return token
    throw new DomainError('UNAUTHENTICATED', 'the credential is invalid')
  }
  if (!isUpgrade(c)) return undefined
  const protocols = (c.req.header('sec-websocket-protocol') ?? '').split(',').map((protocol) => protocol.trim())
  return protocols.find((protocol) => protocol.startsWith('bearer.'))?.slice('bearer.'.length)
}

/**
 * The value of a cookie; undefined also when there are two of the name. A browser has a second one only when a page of
 * the same site, such as a notebook's, planted it for a narrower path, to have its visitor act in another's session.
 */
export function onlyCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((cookie) => cookie.trim())
    .filter((cookie) => cookie.startsWith(`${name}=`))
    .map((cookie) => cookie.slice(name.length + 1))
  return values.length === 1 ? values[0] : undefined
}

/** Whether the request is a WebSocket upgrade (RFC 6455, section 4.1). */
export function isUpgrade(c: Context<AppEnv>): boolean {
  return c.req.header('upgrade')?.toLowerCase() === 'websocket'
}
