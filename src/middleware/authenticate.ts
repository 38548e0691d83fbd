import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { SignedInUser } from '../domain/roles.ts'
import type { IdentityService } from '../services/identity/identity-service.ts'
import type { AppEnv } from './app-env.ts'
import type { Exchange } from './exchange.ts'

/**
 * The name of the cookie of a browser session. On https its prefix makes browsers refuse a cookie of this name that another
 * host of the same site sets, and new browsers refuse one that a script sets, such as a notebook's (RFC 6265bis, section
 * 4.1.3). Browsers refuse the prefix on http.
 */
export function sessionCookie({ isSecure }: Pick<Exchange, 'isSecure'>): string {
  return isSecure ? '__Host-Http-lockhouse_session' : 'lockhouse_session'
}

/**
 * The secret of a browser session in a `Cookie` header. A browser sends the cookie with the prefix over https only, so it
 * counts also where a proxy does not tell the scheme, as for a WebSocket. Over https the other name does not count.
 */
export function sessionSecret(
  cookies: string | undefined,
  { isSecure }: Pick<Exchange, 'isSecure'>,
): string | undefined {
  const secure = onlyCookie(cookies, sessionCookie({ isSecure: true }))
  return secure ?? (isSecure ? undefined : onlyCookie(cookies, sessionCookie({ isSecure: false })))
}

/** The secret of the session that a request presents: as a cookie, or as the bearer token of a command line. */
export function presentedSession(exchange: Exchange): string | undefined {
  return sessionSecret(exchange.header('cookie'), exchange) ?? BEARER.exec(exchange.header('authorization') ?? '')?.[1]
}

const LOCAL: SignedInUser = { user: 'local', role: 'LeadDataEngineer', via: 'off' }
const BEARER = /^Bearer +([\x21-\x7e]+)$/i

export interface AuthenticateOptions {
  readonly mode: 'token' | 'off'
  readonly identity: IdentityService
  /** An `Authorization` scheme to ignore: a header with it counts as absent. */
  readonly foreignScheme?: string
  /** Recognizes a token of the configuration that is valid on these paths only. */
  readonly configured?: (token: string) => SignedInUser | undefined
}

/**
 * Identifies the caller (docs/api.md#identity). An invalid token is refused even where none is needed; an expired session
 * counts as no session, so that the page can sign in again. Undefined when that took no reading of the state.
 */
export function identify(exchange: Exchange, options: AuthenticateOptions): Promise<void> | undefined {
  if (options.mode === 'off') return settle(exchange, LOCAL)
  const { identity } = options
  const token = bearerToken(exchange, options.foreignScheme)
  if (token !== undefined) {
    const configured = options.configured?.(token)
    if (configured !== undefined) return settle(exchange, configured)
    exchange.checkCaller = () => identity.recheckToken(token)
    exchange.caller = identity.rememberedCaller(token)
    if (exchange.caller !== undefined) return undefined
    return admit(exchange, identity.checkToken({ token, address: exchange.clientAddress }))
  }
  const cookies = exchange.header('cookie')
  const secret = sessionSecret(cookies, exchange)
  if (!secret) return undefined
  exchange.checkCaller = () => identity.checkSession(secret)
  return admit(exchange, exchange.checkCaller())
}

/** {@link identify} as a middleware. */
export function authenticate(options: AuthenticateOptions) {
  return createMiddleware<AppEnv>(async function identifyCaller(c, next) {
    await identify(c.env, options)
    await next()
  })
}

function settle(exchange: Exchange, caller: SignedInUser): undefined {
  exchange.caller = caller
  exchange.checkCaller = async () => caller
}

async function admit(exchange: Exchange, caller: Promise<SignedInUser | undefined>): Promise<void> {
  exchange.caller = await caller
}

/** The token of the `Authorization` header or, in an upgrade, of the subprotocol `bearer.<token>`. */
function bearerToken(exchange: Exchange, foreignScheme: string | undefined): string | undefined {
  const header = exchange.header('authorization')
  if (header !== undefined && (foreignScheme === undefined || !hasScheme(header, foreignScheme))) {
    const token = BEARER.exec(header)?.[1]
    if (token !== undefined) return token
    throw new DomainError('UNAUTHENTICATED', 'the credential is invalid')
  }
  if (!exchange.isUpgrade) return undefined
  const protocols = (exchange.header('sec-websocket-protocol') ?? '').split(',').map((protocol) => protocol.trim())
  return protocols.find((protocol) => protocol.startsWith('bearer.'))?.slice('bearer.'.length)
}

function hasScheme(header: string, scheme: string): boolean {
  return header.split(' ')[0]?.toLowerCase() === scheme
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
