import type { AuthInfo } from '@modelcontextprotocol/server'
import type { Handler, Hono } from 'hono'
import type { ToolServices } from '../../agent/tools/tool-services.ts'
import type { McpCall } from '../../agent/mcp/server.ts'
import { allTools } from '../../agent/tools/all-tools.ts'
import { DomainError } from '../../domain/errors.ts'
import type { SignedInUser } from '../../domain/roles.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { authenticate } from '../../middleware/authenticate.ts'
import { crossOrigin } from '../../middleware/cross-origin.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import { HttpError } from '../../middleware/http-error.ts'
import { originGuard } from '../../middleware/origin-guard.ts'
import { type BodyLimits, requestBody } from '../../middleware/request/request-body.ts'
import type { IdentityService } from '../../services/identity/identity-service.ts'
import type { Logger } from '../../services/logger.ts'
import { readJson } from '../routing/read-json.ts'

export interface McpRouteDeps {
  readonly version: string
  readonly log: Logger
  readonly authMode: 'token' | 'off'
  readonly identity: IdentityService
  readonly allowedOrigins: readonly string[]
  readonly toolServices: ToolServices
}

const BODY_LIMITS: BodyLimits = { maxBytes: 2 ** 20, maxMs: 60_000 }

const LOOPBACK_ORIGIN = /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/

/**
 * Mounts the agent's tools at `/mcp` for the users' own assistants, over the Model Context Protocol (Streamable HTTP,
 * stateless): one POST is one message, without sessions. A bearer token is required: cookies are not accepted.
 */
export function mountMcp(app: Hono<AppEnv>, deps: McpRouteDeps): void {
  const { authMode: mode, identity, allowedOrigins } = deps
  const answerPreflight = crossOrigin(allowedOrigins)
  app.use('/mcp', async (c, next) => {
    c.env.route = '/mcp'
    const preflight = answerPreflight(c.env)
    if (preflight !== undefined) return preflight
    return next()
  })
  app.use('/mcp', authenticate({ mode, identity }))
  app.use('/mcp', async (c, next) => {
    requireToken(c.env)
    await next()
  })
  app.use('/mcp', originGuard({ mode, allowedOrigins }))
  app.use(
    '/mcp',
    requestBody(() => BODY_LIMITS),
  )
  app.all('/mcp', answerMcp(deps))
}

/** The protocol's handler of requests, each of which has its caller in `calls`. */
async function openHandler({ version, log, toolServices }: McpRouteDeps, calls: WeakMap<AuthInfo, McpCall>) {
  const { createMcpHandler } = await import('@modelcontextprotocol/server') // large: loaded only when needed
  const { createMcpServer } = await import('../../agent/mcp/server.ts')
  return createMcpHandler(
    ({ authInfo }) => {
      const call = authInfo && calls.get(authInfo)
      if (!call) throw new Error('missing caller of an MCP request')
      return createMcpServer({ tools: allTools, services: toolServices, version }, call)
    },
    {
      // Nothing can be subscribed to, and a stream would outlast its credential check.
      maxSubscriptions: 0,
      onerror: (error) => log.debug('an MCP request was refused', { error }),
    },
  )
}

function answerMcp(deps: McpRouteDeps): Handler<AppEnv> {
  const allowed = new Set(deps.allowedOrigins)
  const calls = new WeakMap<AuthInfo, McpCall>()
  let opened: ReturnType<typeof openHandler> | undefined
  return async (c) => {
    if (c.req.method !== 'POST') throw new HttpError('METHOD_NOT_ALLOWED', 'use POST', { Allow: 'POST' })
    checkOrigin(c.env, allowed)
    const call = { caller: requireToken(c.env), requestId: c.env.requestId, signal: c.req.raw.signal }
    const body = await readJson(c.env)
    // One message is one audited request; the protocol has dropped batches.
    if (Array.isArray(body)) throw new DomainError('INVALID_REQUEST', 'the body must be one message, not a batch')
    const authInfo: AuthInfo = { token: '', clientId: call.caller.user, scopes: [] }
    calls.set(authInfo, call)
    opened ??= openHandler(deps, calls)
    const handler = await opened
    const response = await handler.fetch(c.req.raw, { authInfo, parsedBody: body })
    return new Response(response.body, response)
  }
}

/** Requires a token; with authentication off, any program on this machine may call. */
function requireToken({ caller }: Exchange): SignedInUser {
  if (caller === undefined || caller.via === 'session') {
    throw new DomainError('UNAUTHENTICATED', 'this needs a token: Authorization: Bearer <token>')
  }
  return caller
}

/**
 * Refuses pages of other sites (MCP, Streamable HTTP, "Security warning"). The origin is not compared with the `Host`
 * header: the owner of any domain can point it at this machine.
 */
function checkOrigin(exchange: Exchange, allowed: ReadonlySet<string>): void {
  const host = exchange.header('host')
  const origin = exchange.header('origin')
  if (origin === undefined || allowed.has(origin)) return
  if (LOOPBACK_ORIGIN.test(origin) && URL.parse(origin)?.host === host) return
  throw new DomainError('FORBIDDEN', 'cross-origin request refused')
}
