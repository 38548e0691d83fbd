import type { Context } from 'hono'
import { DomainError } from '../../domain/errors.ts'
import type { SignedInUser } from '../../domain/roles.ts'
import { notebookBasePath } from '../../notebooks/path.ts'
import type { Isolation } from './policy.ts'
import { proxyPath, withoutToken } from '../proxy-path.ts'
import { fetchesServiceWorker, hasClearFraming, originRefusal } from './request-rules.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { HttpError } from '../../middleware/http-error.ts'
import { isLoopbackHost } from '../../middleware/origin-guard.ts'
import { isHost } from '../../middleware/request/require-host.ts'
import { requireRole } from '../../middleware/require-role.ts'

/** Settings that decide which requests reach a notebook. */
export interface AdmissionRules {
  readonly mode: 'token' | 'off'
  /** Origins accepted in addition to the request's own. */
  readonly allowedOrigins: ReadonlySet<string>
  readonly isolation: Isolation
  /** With separate notebook hosts: handles requests that came to the service's host; undefined lets them pass. */
  readonly redirectToNotebookHost?: (c: Context<AppEnv>, admitted: AdmittedRequest) => Promise<Response | undefined>
}

/** A request that may reach the caller's notebook. */
export interface AdmittedRequest {
  readonly caller: SignedInUser
  readonly requested: URL
  /** From the `Host` header; validated. */
  readonly host: string
  readonly secure: boolean
  /** Path and query for the notebook. */
  readonly path: string
}

/** Methods addressed to the proxy, not to the server behind it (RFC 9110, sections 9.3.6 and 9.3.8). */
const REFUSED_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** Admits a request to its caller's notebook, or returns a redirect. Throws when the request is not allowed. */
export async function admit(c: Context<AppEnv>, rules: AdmissionRules): Promise<AdmittedRequest | Response> {
  const caller = c.env.caller
  requireRole(caller, 'DataEngineer')
  const { raw, method } = c.req
  const requested = new URL(raw.url)
  const parsed = proxyPath(requested.pathname, caller?.user ?? '')
  if (caller === undefined || parsed.kind === 'foreign') {
    throw new DomainError('FORBIDDEN', 'the path must name your own notebook')
  }
  const host = requireHost(c, rules)
  requireOrigin(c, rules, { host, caller })
  if (REFUSED_METHODS.has(method)) {
    throw new HttpError('METHOD_NOT_ALLOWED', 'this method is not supported for notebooks', {
      Allow: 'GET, HEAD, POST',
    })
  }
  if (parsed.kind === 'malformed') throw new DomainError('INVALID_REQUEST', 'path contains encoded or unsafe segments')
  if (!hasClearFraming(raw.headers))
    throw new DomainError('INVALID_REQUEST', 'ambiguous Content-Length or Transfer-Encoding')
  if (parsed.kind === 'no-slash') return redirect(notebookBasePath(caller.user) + withoutToken(requested.search))
  const path = parsed.path + withoutToken(requested.search)
  const admitted = { caller, requested, host, secure: c.env.isSecure, path }
  return (await rules.redirectToNotebookHost?.(c, admitted)) ?? admitted
}

/** Throws when the request may come from another site or installs a service worker. */
function requireOrigin(
  c: Context<AppEnv>,
  { isolation, allowedOrigins }: AdmissionRules,
  { host, caller }: { readonly host: string; readonly caller: SignedInUser },
): void {
  const { method, raw } = c.req
  const bearer = caller.via !== 'session'
  const refusal = originRefusal(
    { method, upgrade: c.env.isUpgrade, headers: raw.headers, host, bearer },
    allowedOrigins,
  )
  if (refusal !== undefined) throw new DomainError('FORBIDDEN', refusal)
  if (isolation === 'path' && fetchesServiceWorker(raw.headers)) {
    throw new DomainError('FORBIDDEN', 'notebooks must not install service workers on the origin of the service')
  }
}

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { Location: location } })
}

function requireHost(c: Context<AppEnv>, { mode, isolation }: AdmissionRules): string {
  const host = c.req.header('host') ?? new URL(c.req.url).host
  if (!isHost(host)) throw new DomainError('INVALID_REQUEST', 'invalid Host header')
  if (mode === 'off' && isolation === 'path' && !isLoopbackHost(host)) {
    throw new DomainError('FORBIDDEN', 'without authentication, the Host header must be a loopback address')
  }
  return host
}
