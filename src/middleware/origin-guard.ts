import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { AppEnv } from './app-env.ts'
import type { Exchange } from './exchange.ts'

export interface OriginGuardOptions {
  readonly mode: 'token' | 'off'
  readonly allowedOrigins: readonly string[]
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const LOOPBACK_HOST = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/

/** Whether a `Host` is a loopback name or address. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host)
}

/**
 * Prevents cross-site request forgery (docs/api.md#identity). Cookies and a loopback connection are not proof of intent:
 * an unsafe request authenticated only by them, whatever its content type, and every WebSocket upgrade of a browser must
 * come from this page or an allowed origin. Throws `FORBIDDEN`.
 */
export function createOriginGuard({ mode, allowedOrigins }: OriginGuardOptions): (exchange: Exchange) => undefined {
  const allowed = new Set(allowedOrigins)
  return (exchange): undefined => {
    // With authentication off, prevent DNS rebinding: a domain that an attacker points at this machine.
    if (mode === 'off' && !isLoopbackHost(exchange.host))
      refuse('without authentication, the Host header must be a loopback address')
    if (mustProveOrigin(exchange) && !isOwnPage(exchange, allowed))
      refuse('cross-origin request: add the origin to ALLOWED_ORIGINS if it should be allowed')
    if (exchange.caller?.via === 'session' && comesFromNotebook(exchange)) {
      refuse('notebook pages may not use the session of the service')
    }
  }
}

/** {@link createOriginGuard} as a middleware. */
export function originGuard(options: OriginGuardOptions) {
  const guard = createOriginGuard(options)
  return createMiddleware<AppEnv>(async function checkOrigin(c, next) {
    guard(c.env)
    await next()
  })
}

function mustProveOrigin(exchange: Exchange): boolean {
  const via = exchange.caller?.via
  // Browsers send an origin with every upgrade: a request without one and with a token comes from a program.
  if (exchange.isUpgrade) return via === 'session' || via === 'off' || comesFromBrowser(exchange)
  if (SAFE_METHODS.has(exchange.method)) return false
  if (via === 'session') return true
  // Without a token, only requests not sent by a browser are allowed: a program on this machine, or a sign-in.
  return via !== 'token' && via !== 'jwt' && comesFromBrowser(exchange)
}

function comesFromBrowser(exchange: Exchange): boolean {
  return exchange.header('origin') !== undefined || exchange.header('sec-fetch-site') !== undefined
}

/**
 * Notebook pages share the service's origin unless notebooks have separate hosts. Their Content-Security-Policy keeps
 * them away from the rest of the service; this check is for browsers without CSP, and a page can avoid it by hiding its
 * URL.
 */
function comesFromNotebook(exchange: Exchange): boolean {
  const referer = exchange.header('referer')
  return referer !== undefined && URL.parse(referer)?.pathname.startsWith('/notebook/') === true
}

function isOwnPage(exchange: Exchange, allowed: ReadonlySet<string>): boolean {
  const origin = exchange.header('origin')
  if (origin !== undefined && allowed.has(origin)) return true
  const site = exchange.header('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  return origin !== undefined && URL.parse(origin)?.host === exchange.host
}

function refuse(why: string): never {
  throw new DomainError('FORBIDDEN', why)
}
