import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import type * as openid from 'openid-client'
import type { Configuration, TokenEndpointResponse } from 'openid-client'
import type { Logger } from '../../logger.ts'
import { claimOf, type Claims } from '../claims.ts'
import { ALGORITHMS, CLOCK_TOLERANCE_S } from '../jwt-verifier.ts'
import { createKeySet } from '../key-set.ts'
import { limitedFetch } from './limited-fetch.ts'
import { checkLogoutToken, type LogoutNotice } from './logout-notice.ts'
import { oidcProblem, SignInError } from './sign-in-error.ts'

/** How the service is registered at the provider. */
export interface OidcOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Separated by spaces. */
  readonly scopes: string
  /** Claims that are looked for in the user information when the ID token lacks one of them. */
  readonly wantedClaims: readonly string[]
  readonly now: () => Date
  readonly log: Logger
}

/** What ties a provider's answer to the browser that began the sign-in. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
}

/** What a provider grants. */
export interface ProviderGrant {
  readonly subject: string
  /** Of the ID token and the user information. */
  readonly claims: Claims
  readonly sid: string | undefined
  readonly refreshToken: string | undefined
  /** How long the access token is valid. */
  readonly lifetimeMs: number
}

/** A device authorization (RFC 8628, section 3.2). */
export interface DeviceCode {
  readonly deviceCode: string
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete: string | undefined
  readonly expiresInS: number
  readonly intervalS: number
}

/** An OpenID Connect provider. Every method throws {@link SignInError}. */
export interface OidcClient {
  /** The address of the provider that a browser must open. */
  authorizationUrl(redirectUri: string, secrets: SignInSecrets): Promise<string>
  /** Exchanges the code in the address that the provider sent the browser to. */
  redeem(callback: URL, secrets: SignInSecrets): Promise<ProviderGrant>
  /** New tokens for the same user. */
  refresh(refreshToken: string, subject: string): Promise<ProviderGrant>
  /** Undefined: the provider has no device flow. */
  beginDevice(): Promise<DeviceCode | undefined>
  /** The grant, or the seconds to add to the interval while the user has not decided. */
  pollDevice(deviceCode: string): Promise<ProviderGrant | { readonly slowerByS: number }>
  /** The content of a logout token; undefined when it is invalid. */
  logoutNotice(token: string): Promise<LogoutNotice | undefined>
  /** Tells the provider that a refresh token is not needed any more; a failure is only logged. */
  revoke(refreshToken: string): Promise<void>
}

type Library = typeof openid

/** The library with the provider's metadata, and its public keys. */
interface Provider {
  readonly library: Library
  readonly config: Configuration
  readonly keys: ReturnType<typeof createKeySet>
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
/** The metadata is read again after this time. */
const FRESH_MS = 60 * 60 * 1000
/** For a provider that does not say how long an access token is valid. */
const DEFAULT_LIFETIME_S = 300
const MAX_LIFETIME_S = 366 * 24 * 60 * 60

/**
 * A client of an OpenID Connect provider. The library is loaded and the provider's metadata is read (OpenID Connect
 * Discovery 1.0) at the first use, so that the service starts without the provider.
 */
export function createOidcClient(options: OidcOptions): OidcClient {
  const provider = createProviderCache(options)
  const using = async <T>(work: (provider: Provider) => Promise<T>): Promise<T> => {
    try {
      return await work(await provider())
    } catch (error) {
      const problem = oidcProblem(error)
      options.log.warn('the identity provider refused or did not answer', {
        problem: problem.problem,
        why: problem.message,
      })
      throw problem
    }
  }
  return {
    authorizationUrl: (redirectUri, secrets) =>
      using((known) => authorizationUrl(known, options, { redirectUri, secrets })),
    redeem: (callback, secrets) =>
      using(async (known) => {
        const tokens = await known.library.authorizationCodeGrant(known.config, callback, {
          expectedState: secrets.state,
          expectedNonce: secrets.nonce,
          pkceCodeVerifier: secrets.codeVerifier,
          idTokenExpected: true,
        })
        return grantOf(known, options, { tokens })
      }),
    refresh: (refreshToken, subject) =>
      using(async (known) => {
        const tokens = await known.library.refreshTokenGrant(known.config, refreshToken)
        return grantOf(known, options, { tokens, subject, refreshToken })
      }),
    beginDevice: () => using((known) => beginDevice(known, options)),
    pollDevice: (deviceCode) => using((known) => pollDevice(known, options, deviceCode)),
    logoutNotice: (token) =>
      using(({ keys }) =>
        checkLogoutToken(token, { keys, issuer: options.issuer, audience: options.clientId, now: options.now() }),
      ),
    async revoke(refreshToken) {
      try {
        const { library, config } = await provider()
        if (config.serverMetadata().revocation_endpoint === undefined) return
        await library.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' })
      } catch (error) {
        options.log.warn('the refresh token of an ended session could not be revoked', {
          why: oidcProblem(error).message,
        })
      }
    },
  }
}

function createProviderCache(options: OidcOptions): () => Promise<Provider> {
  let known: { readonly provider: Promise<Provider>; readonly atMs: number } | undefined
  return () => {
    const nowMs = options.now().getTime()
    if (known && nowMs - known.atMs < FRESH_MS) return known.provider
    const provider = discover(options)
    const entry = { provider, atMs: nowMs }
    known = entry
    provider.catch(() => {
      if (known === entry) known = undefined
    })
    return provider
  }
}

async function discover({ issuer, clientId, clientSecret, now, log }: OidcOptions): Promise<Provider> {
  const library = await import('openid-client')
  const basic = library.ClientSecretBasic(clientSecret)
  const post = library.ClientSecretPost(clientSecret)
  const config = await library.discovery(
    new URL(issuer),
    clientId,
    { [library.clockTolerance]: CLOCK_TOLERANCE_S },
    (...request) => {
      const methods = request[0].token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      return (methods.includes('client_secret_basic') ? basic : post)(...request)
    },
    // http only for loopback: `limitedFetch` refuses every other address
    { [library.customFetch]: limitedFetch, execute: [library.allowInsecureRequests] },
  )
  const jwksUrl = config.serverMetadata().jwks_uri
  if (jwksUrl === undefined) throw new SignInError('unavailable', 'the provider publishes no keys (jwks_uri)')
  return { library, config, keys: createKeySet({ issuer, jwksUrl, nowMs: () => now().getTime(), log }) }
}

interface Start {
  readonly redirectUri: string
  readonly secrets: SignInSecrets
}

async function authorizationUrl(
  { library, config }: Provider,
  { scopes }: OidcOptions,
  { redirectUri, secrets: { state, nonce, codeVerifier } }: Start,
): Promise<string> {
  const challenge = await library.calculatePKCECodeChallenge(codeVerifier)
  const parameters = { redirect_uri: redirectUri, scope: scopes, state, nonce }
  return library.buildAuthorizationUrl(config, {
    ...parameters,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }).href
}

type Tokens = Pick<TokenEndpointResponse, 'id_token' | 'access_token' | 'expires_in' | 'refresh_token'>

interface Granted {
  readonly tokens: Tokens
  /** The user that the session is of; undefined: any. */
  readonly subject?: string
  /** The refresh token that was used; it stays valid when the provider sends no other. */
  readonly refreshToken?: string
}

/** Checks the signature of the ID token, whose claims the library has checked, and adds the user information. */
async function grantOf(provider: Provider, options: OidcOptions, granted: Granted): Promise<ProviderGrant> {
  const { tokens } = granted
  const idClaims = tokens.id_token === undefined ? {} : await verified(provider, options, tokens.id_token)
  const subject = granted.subject ?? idClaims.sub
  if (subject === undefined) throw new SignInError('invalid', 'the answer of the provider names no user')
  if (idClaims.sub !== undefined && idClaims.sub !== subject) {
    throw new SignInError('ended', 'the provider answered for another user')
  }
  const info = await missingClaims(provider, options, { tokens, idClaims, subject })
  const lifetimeS = Math.min(MAX_LIFETIME_S, tokens.expires_in ?? DEFAULT_LIFETIME_S)
  return {
    subject,
    claims: { ...info, ...idClaims, sub: subject },
    sid: typeof idClaims['sid'] === 'string' ? idClaims['sid'] : undefined,
    refreshToken: tokens.refresh_token ?? granted.refreshToken,
    lifetimeMs: lifetimeS * 1000,
  }
}

interface IdentifiedTokens extends Pick<Granted, 'tokens'> {
  readonly idClaims: JWTPayload
  readonly subject: string
}

/** The user information, if the ID token lacks a wanted claim. */
async function missingClaims(
  provider: Provider,
  { wantedClaims }: OidcOptions,
  { tokens, idClaims, subject }: IdentifiedTokens,
): Promise<Claims> {
  const hasIdToken = tokens.id_token !== undefined
  if (hasIdToken && wantedClaims.every((name) => claimOf(idClaims, name) !== undefined)) return {}
  const info = await userInfo(provider, tokens.access_token, subject)
  if (info === undefined && !hasIdToken) {
    throw new SignInError('ended', 'the provider sent neither an ID token nor user information')
  }
  return info ?? {}
}

async function verified(
  { keys }: Provider,
  { issuer, clientId, now }: OidcOptions,
  token: string,
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      audience: clientId,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'iat', 'sub', 'iss'],
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: now(),
    })
    return payload
  } catch (error) {
    if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error
    const { alg } = decodeProtectedHeader(token)
    throw new SignInError('invalid', `the ID token of ${issuer} is invalid (${error.name}, algorithm ${alg ?? 'none'})`)
  }
}

/** Undefined: the provider has none. */
async function userInfo(
  { library, config }: Provider,
  accessToken: string,
  subject: string,
): Promise<Claims | undefined> {
  if (config.serverMetadata().userinfo_endpoint === undefined) return undefined
  return library.fetchUserInfo(config, accessToken, subject)
}

async function beginDevice({ library, config }: Provider, { scopes }: OidcOptions): Promise<DeviceCode | undefined> {
  if (config.serverMetadata().device_authorization_endpoint === undefined) return undefined
  const begun = await library.initiateDeviceAuthorization(config, { scope: scopes })
  return {
    deviceCode: begun.device_code,
    userCode: begun.user_code,
    verificationUri: begun.verification_uri,
    verificationUriComplete: begun.verification_uri_complete,
    expiresInS: begun.expires_in,
    intervalS: begun.interval ?? 5,
  }
}

async function pollDevice(
  provider: Provider,
  options: OidcOptions,
  deviceCode: string,
): Promise<ProviderGrant | { readonly slowerByS: number }> {
  const { library, config } = provider
  try {
    const tokens = await library.genericGrantRequest(config, DEVICE_GRANT, { device_code: deviceCode })
    if (tokens.id_token === undefined) throw new SignInError('invalid', 'the provider sent no ID token')
    return await grantOf(provider, options, { tokens })
  } catch (error) {
    if (error instanceof library.ResponseBodyError) {
      if (error.error === 'authorization_pending') return { slowerByS: 0 }
      if (error.error === 'slow_down') return { slowerByS: 5 }
    }
    throw error
  }
}
