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

/** Whether a `Host` names this machine to itself. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host)
}

/**
 * Keeps other web sites from acting through a visitor's browser (contract, section 3). What the browser adds by itself,
 * a cookie or its place on this machine, proves nothing: an unsafe request that stands on that alone, whatever its
 * content type, and every WebSocket upgrade of a browser must say that it comes from this page or an allowed origin.
 */
export function originGuard({ mode, allowedOrigins }: OriginGuardOptions) {
  const allowed = new Set(allowedOrigins)
  return createMiddleware<AppEnv>(async function checkOrigin(c, next) {
    // With authentication off, a name that an attacker points at this machine must open nothing (DNS rebinding).
    if (mode === 'off' && !isLoopbackHost(hostOf(c))) refuse('the service is asked for under a foreign name')
    if (mustProveOrigin(c) && !isOwnPage(c, allowed))
      refuse('the request does not come from this page or an allowed origin')
    if (c.get('caller')?.via === 'session' && comesFromNotebook(c)) {
      refuse('a page of a notebook may not act in the session of its visitor')
    }
    await next()
  })
}

function mustProveOrigin(c: Context<AppEnv>): boolean {
  const via = c.get('caller')?.via
  // A browser says in every upgrade where it comes from: what does not, and brings a token of its own, is a program.
  if (isUpgrade(c)) return via === 'session' || via === 'off' || comesFromBrowser(c)
  if (SAFE_METHODS.has(c.req.method)) return false
  if (via === 'session') return true
  // Without a token, a request is only let through for what no browser has sent: a program on this machine, or a sign-in.
  return via !== 'token' && via !== 'jwt' && comesFromBrowser(c)
}

function comesFromBrowser(c: Context<AppEnv>): boolean {
  return c.req.header('origin') !== undefined || c.req.header('sec-fetch-site') !== undefined
}

/**
 * Pages of notebooks have the same origin, unless each user's have one of their own. What keeps them from the rest of
 * it is their Content-Security-Policy; this is for browsers that do not know it, and can be avoided by a page that
 * hides where it is.
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
