import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { AppEnv } from './app-env.ts'
import { isUpgrade } from './authenticate.ts'

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
 * come from this page or an allowed origin.
 */
export function originGuard({ mode, allowedOrigins }: OriginGuardOptions) {
  const allowed = new Set(allowedOrigins)
  return createMiddleware<AppEnv>(async function checkOrigin(c, next) {
    // With authentication off, prevent DNS rebinding: a domain that an attacker points at this machine.
    if (mode === 'off' && !isLoopbackHost(hostOf(c)))
      refuse('without authentication, the Host header must be a loopback address')
    if (mustProveOrigin(c) && !isOwnPage(c, allowed))
      refuse('cross-origin request: add the origin to ALLOWED_ORIGINS if it should be allowed')
    if (c.get('caller')?.via === 'session' && comesFromNotebook(c)) {
      refuse('notebook pages may not use the session of the service')
    }
    await next()
  })
}

function mustProveOrigin(c: Context<AppEnv>): boolean {
  const via = c.get('caller')?.via
  // Browsers send an origin with every upgrade: a request without one and with a token comes from a program.
  if (isUpgrade(c)) return via === 'session' || via === 'off' || comesFromBrowser(c)
  if (SAFE_METHODS.has(c.req.method)) return false
  if (via === 'session') return true
  // Without a token, only requests not sent by a browser are allowed: a program on this machine, or a sign-in.
  return via !== 'token' && via !== 'jwt' && comesFromBrowser(c)
}

function comesFromBrowser(c: Context<AppEnv>): boolean {
  return c.req.header('origin') !== undefined || c.req.header('sec-fetch-site') !== undefined
}

/**
 * Notebook pages share the service's origin unless notebooks have separate hosts. Their Content-Security-Policy keeps
 * them away from the rest of the service; this check is for browsers without CSP, and a page can avoid it by hiding its
 * URL.
 */
function comesFromNotebook(c: Context<AppEnv>): boolean {
  const referer = c.req.header('referer')
  return referer !== undefined && URL.parse(referer)?.pathname.startsWith('/notebook/') === true
}

function isOwnPage(c: Context<AppEnv>, allowed: ReadonlySet<string>): boolean {
  const origin = c.req.header('origin')
  if (origin !== undefined && allowed.has(origin)) return true
  const site = c.req.header('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  return origin !== undefined && URL.parse(origin)?.host === hostOf(c)
}

function hostOf(c: Context<AppEnv>): string {
  return c.req.header('host') ?? new URL(c.req.url).host
}

function refuse(why: string): never {
  throw new DomainError('FORBIDDEN', why)
}
