import type { Context } from 'hono'
import { DomainError } from '../domain/errors.ts'
import type { Caller } from '../domain/roles.ts'
import { notebookBasePath } from '../notebooks/notebook-path.ts'
import type { Isolation } from '../notebooks/proxy/notebook-policy.ts'
import { proxyPath, withoutToken } from '../notebooks/proxy/proxy-path.ts'
import { fetchesServiceWorker, isPlainlyFramed, originRefusal } from '../notebooks/proxy/request-rules.ts'
import type { AppEnv } from './app-env.ts'
import { isUpgrade } from './authenticate.ts'
import { HttpError } from './http-error.ts'
import { isLoopbackHost } from './origin-guard.ts'
import { isHost } from './request/require-host.ts'
import { requireRole } from './require-role.ts'

/** What decides which requests reach a notebook. */
export interface AdmissionRules {
  readonly mode: 'token' | 'off'
  /** Origins other than the one that is asked for. */
  readonly allowedOrigins: ReadonlySet<string>
  readonly isolation: Isolation
  /** Where notebooks have hosts of their own: answers what came to the service's instead; undefined lets it pass. */
  readonly elsewhere?: (c: Context<AppEnv>, admitted: AdmittedRequest) => Promise<Response | undefined>
}

/** A request that may reach the caller's notebook. */
export interface AdmittedRequest {
  readonly caller: Caller
  readonly requested: URL
  /** As the client named it; checked to be a host and nothing else. */
  readonly host: string
  readonly secure: boolean
  /** Path and query for the notebook. */
  readonly path: string
}

/** Methods that are about the proxy and not about what is behind it (RFC 9110, sections 9.3.6 and 9.3.8). */
const REFUSED_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** Lets a request pass that may reach its caller's notebook, or answers it; throws the refusal of any other. */
export async function admit(c: Context<AppEnv>, rules: AdmissionRules): Promise<AdmittedRequest | Response> {
  const { mode, isolation, allowedOrigins } = rules
  const caller = c.get('caller')
  requireRole(caller, 'DataEngineer')
  const { raw, method } = c.req
  const requested = new URL(raw.url)
  const judged = proxyPath(requested.pathname, caller?.user ?? '')
  if (caller === undefined || judged.kind === 'foreign') {
    throw new DomainError('FORBIDDEN', 'the path must name the notebook of its caller')
  }
  const host = requireHost(c, mode)
  const bearer = caller.via !== 'session'
  const refusal = originRefusal({ method, upgrade: isUpgrade(c), headers: raw.headers, host, bearer }, allowedOrigins)
  if (refusal !== undefined) throw new DomainError('FORBIDDEN', refusal)
  if (isolation === 'path' && fetchesServiceWorker(raw.headers)) {
    throw new DomainError('FORBIDDEN', 'a service worker of a notebook would answer for the service')
  }
  if (REFUSED_METHODS.has(method)) {
    throw new HttpError(405, 'METHOD_NOT_ALLOWED', 'this is no method for a notebook', { Allow: 'GET, HEAD, POST' })
  }
  if (judged.kind === 'malformed') throw new DomainError('INVALID_REQUEST', 'the path is not plain')
  if (!isPlainlyFramed(raw.headers)) throw new DomainError('INVALID_REQUEST', 'the length of the body is not plain')
  if (judged.kind === 'unfinished') return redirect(notebookBasePath(caller.user) + withoutToken(requested.search))
  const path = judged.path + withoutToken(requested.search)
  const admitted = { caller, requested, host, secure: isSecure(c), path }
  return (await rules.elsewhere?.(c, admitted)) ?? admitted
}

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { Location: location } })
}

function requireHost(c: Context<AppEnv>, mode: 'token' | 'off'): string {
  const host = c.req.header('host') ?? new URL(c.req.url).host
  if (!isHost(host)) throw new DomainError('INVALID_REQUEST', 'invalid Host header')
  if (mode === 'off' && !isLoopbackHost(host)) {
    throw new DomainError('FORBIDDEN', 'the service is asked for under a foreign name')
  }
  return host
}

function isSecure(c: Context<AppEnv>): boolean {
  return c.req.url.startsWith('https:') || c.req.header('x-forwarded-proto') === 'https'
}
