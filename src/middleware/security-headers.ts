import { createMiddleware } from 'hono/factory'
import type { AppEnv } from './app-env.ts'

/** What every answer says to browsers: run nothing of others, show it in no frame, guess no types, tell no addresses. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

const ENTRIES = Object.entries(SECURITY_HEADERS)

/** Adds the security headers to every answer, refusals and pages too. */
export function securityHeaders() {
  return createMiddleware<AppEnv>(async function addSecurityHeaders(c, next) {
    await next()
    for (const [name, value] of ENTRIES) c.res.headers.set(name, value)
  })
}
