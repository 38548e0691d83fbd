import { serialize } from 'hono/utils/cookie'
import { DomainError } from '../../domain/errors.ts'
import { onlyCookie, sessionSecret } from '../../middleware/authenticate.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import { HttpError } from '../../middleware/http-error.ts'
import {
  callbackQuery,
  deviceCode,
  devicePending,
  deviceToken,
  deviceTokenRequest,
  loginQuery,
  signInMethods,
} from '../../schemas/auth.ts'
import { SignInError } from '../../services/identity/sign-in/sign-in-error.ts'
import { BEGUN_MS, type SignInService } from '../../services/identity/sign-in/sign-in-service.ts'
import { publicRoute, type Route } from '../routing/route.ts'
import { sessionHeaders } from './session-routes.ts'

export interface SignInRouteDeps {
  /** Undefined: no identity provider is configured. */
  readonly signIn: SignInService | undefined
  /** Path below which the service answers; empty: the whole host. */
  readonly basePath: string
}

const FORM = /^application\/x-www-form-urlencoded *(;|$)/i

/** Sign-in at an OpenID Connect provider (docs/sign-in.md). */
export function signInRoutes(deps: SignInRouteDeps): Route[] {
  return [
    publicRoute({
      method: 'get',
      path: '/api/auth/methods',
      operationId: 'listSignInMethods',
      summary: 'How users may sign in',
      responses: { 200: { description: 'The configured methods', schema: signInMethods } },
    }).handle(() => ({ status: 200, body: { token: true, provider: deps.signIn !== undefined } })),
    ...browserRoutes(deps),
    ...deviceRoutes(deps),
    logoutRoute(deps),
  ]
}

function notConfigured(): DomainError {
  return new DomainError('NOT_FOUND', 'sign-in at an identity provider is not configured: set AUTH_OIDC_ISSUER')
}

/** The service; its routes are unavailable without one. */
function configured(signIn: SignInService | undefined): SignInService {
  if (signIn !== undefined) return signIn
  throw notConfigured()
}

function browserRoutes({ signIn, basePath }: SignInRouteDeps): Route[] {
  const unavailable = () => (signIn === undefined ? notConfigured() : undefined)
  return [
    publicRoute({
      method: 'get',
      path: '/api/auth/login',
      operationId: 'beginSignIn',
      summary: 'Sign in at the identity provider; for browsers',
      unavailable,
      query: loginQuery,
      responses: { 303: { description: 'To the provider' } },
    }).handle(async ({ query: { return_to: returnTo }, exchange }) => {
      const redirectUri = `${exchange.isSecure ? 'https' : 'http'}://${exchange.host}${basePath}/api/auth/callback`
      const start = { redirectUri, returnTo, browser: browserSecret(exchange), address: exchange.clientAddress }
      try {
        const { location, browser } = await configured(signIn).begin(start)
        const cookie = browserCookie(exchange, browser)
        return { status: 303, headers: { Location: location, 'Set-Cookie': cookie, 'Cache-Control': 'no-store' } }
      } catch (error) {
        return failed(error)
      }
    }),
    publicRoute({
      method: 'get',
      path: '/api/auth/callback',
      operationId: 'completeSignIn',
      summary: 'Where the identity provider sends browsers back to; opens the session',
      unavailable,
      query: callbackQuery,
      responses: { 303: { description: 'To the page that the user wanted, or to the page that says why it failed' } },
    }).handle(async ({ exchange }) => {
      const { searchParams: search } = new URL(exchange.request.url)
      const previous = sessionSecret(exchange.header('cookie'), exchange)
      const back = { search, browser: browserSecret(exchange), previous, requestId: exchange.requestId }
      try {
        const { secret, returnTo } = await configured(signIn).complete(back)
        return { status: 303, headers: { Location: returnTo, ...sessionHeaders(exchange, secret) } }
      } catch (error) {
        return failed(error)
      }
    }),
  ]
}

/** Opens the page that says why a sign-in failed. */
function failed(error: unknown): { readonly status: 303; readonly headers: Readonly<Record<string, string>> } {
  if (!(error instanceof SignInError)) throw error
  const { problem, returnTo } = error
  const why = problem === 'ended' ? 'expired' : problem
  const search = new URLSearchParams({ why, ...(returnTo === undefined ? {} : { next: returnTo }) })
  return { status: 303, headers: { Location: `/sign-in?${search.toString()}`, 'Cache-Control': 'no-store' } }
}

/** Ties a sign-in to the browser; not `Strict`, because the provider's page sends the browser back. */
function browserCookie(exchange: Exchange, secret: string): string {
  const { isSecure: secure } = exchange
  const options = { secure, path: '/', httpOnly: true, sameSite: 'Lax', maxAge: BEGUN_MS / 1000 } as const
  return serialize(browserCookieName(exchange), secret, options)
}

function browserSecret(exchange: Exchange): string | undefined {
  return onlyCookie(exchange.header('cookie'), browserCookieName(exchange))
}

function browserCookieName({ isSecure }: Exchange): string {
  return isSecure ? '__Host-Http-lockhouse_sign_in' : 'lockhouse_sign_in'
}

function deviceRoutes({ signIn }: SignInRouteDeps): Route[] {
  const unavailable = () => (signIn === undefined ? notConfigured() : undefined)
  return [
    publicRoute({
      method: 'post',
      path: '/api/auth/device',
      operationId: 'beginDeviceSignIn',
      summary: 'Sign in with another device (RFC 8628); for the command line',
      unavailable,
      responses: { 200: { description: 'The code to enter at the provider', schema: deviceCode } },
      refuses: [422, 503],
    }).handle(async ({ exchange }) => {
      const begun = await configured(signIn).beginDevice(exchange.clientAddress)
      const { verificationUriComplete: complete } = begun
      const body = {
        device_code: begun.deviceCode,
        user_code: begun.userCode,
        verification_uri: begun.verificationUri,
        ...(complete === undefined ? {} : { verification_uri_complete: complete }),
        expires_in: begun.expiresInS,
        interval: begun.intervalS,
      }
      return { status: 200, body, headers: { 'Cache-Control': 'no-store' } }
    }),
    publicRoute({
      method: 'post',
      path: '/api/auth/device/token',
      operationId: 'completeDeviceSignIn',
      summary: 'The token of a sign-in with another device',
      unavailable,
      body: deviceTokenRequest,
      responses: {
        200: { description: 'The user has signed in', schema: deviceToken },
        202: { description: 'The user has not decided; ask again after the interval', schema: devicePending },
      },
      refuses: [422, 503],
    }).handle(async ({ body, exchange }) => {
      const context = { address: exchange.clientAddress, requestId: exchange.requestId }
      const polled = await configured(signIn).pollDevice(body.device_code, context)
      const headers = { 'Cache-Control': 'no-store' }
      if ('slowerByS' in polled) return { status: 202, body: { slower_by: polled.slowerByS }, headers }
      const { caller, secret } = polled
      return { status: 200, body: { token: secret, user: caller.user, role: caller.role }, headers }
    }),
  ]
}

function logoutRoute({ signIn }: SignInRouteDeps): Route {
  return publicRoute({
    method: 'post',
    path: '/api/auth/backchannel-logout',
    operationId: 'endSessionsAtProvider',
    summary: 'The identity provider reports a logout (OpenID Connect Back-Channel Logout 1.0)',
    unavailable: () => (signIn === undefined ? notConfigured() : undefined),
    responses: { 200: { description: 'The sessions have ended' } },
    refuses: [415],
  }).handle(async ({ exchange }) => {
    if (!FORM.test(exchange.header('content-type') ?? '')) {
      throw new HttpError('UNSUPPORTED_MEDIA_TYPE', 'the body must be application/x-www-form-urlencoded')
    }
    const form = new URLSearchParams(new TextDecoder().decode(await exchange.readBody()))
    const tokens = form.getAll('logout_token')
    if (tokens.length !== 1) throw new DomainError('INVALID_REQUEST', 'logout_token is missing or given twice')
    await configured(signIn).endAtProvider(tokens[0] ?? '', exchange.requestId)
    return { status: 200, headers: { 'Cache-Control': 'no-store' } }
  })
}
