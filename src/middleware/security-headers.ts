import { createMiddleware } from 'hono/factory'
import type { AppEnv } from './app-env.ts'

/**
 * Content-Security-Policy of the page. Scripts come from the service's own files only, never inline. Inline styles are
 * allowed: the UI components set custom properties in style elements, and styles cannot run code or send data while
 * `img-src` and `default-src` apply. `'self'` in `connect-src` includes the monitor's WebSocket.
 */
const CONTENT_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ')

/** What every answer says to browsers: run nothing of others, show it in no frame, guess no types, tell no addresses. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

const ENTRIES = Object.entries(SECURITY_HEADERS)

/** Adds the security headers to every answer of the service itself, refusals and pages too. */
export function securityHeaders() {
  return createMiddleware<AppEnv>(async function addSecurityHeaders(c, next) {
    await next()
    if (c.get('relayed') === true) return // a notebook's answer has a policy of its own
    for (const [name, value] of ENTRIES) c.res.headers.set(name, value)
  })
}
