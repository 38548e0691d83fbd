import type { Fetch } from '../../domain/network/fetch.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ProviderName } from '../../domain/model-providers.ts'
import { invalidApiBase, parseApiBase } from './api-base.ts'
import { bindFetch } from './bound-fetch.ts'
import { PROVIDERS, type RemoteProviderName } from './providers.ts'

/** The server's settings for model addresses; records are keyed by the provider's name. */
export interface ModelEndpointSettings {
  /** Keys that the server holds. */
  readonly keys: Readonly<Record<string, string | undefined>>
  /** Additional addresses that a request may name; only their origins are compared. */
  readonly allowedBases: readonly string[]
  /** Addresses in the server's settings that replace a provider's default. */
  readonly serverBases: Readonly<Record<string, string | undefined>>
  /** Connects to public addresses only. */
  readonly guardedFetch: Fetch
  /** Connects to any address: for addresses in the server's settings. */
  readonly plainFetch: Fetch
}

/** The provider, address and key of a request. */
export interface ModelEndpointRequest {
  readonly provider: ProviderName
  /** Null, undefined and blank: the provider's default address. */
  readonly apiBase: string | null | undefined
  /** A key sent with the request; it replaces the server's key. */
  readonly callerKey?: string | undefined
}

/** Where and how a model is called. */
export interface ModelEndpoint {
  readonly baseURL: string
  readonly apiKey: string | undefined
  /** Calls only the origin of `baseURL`, only with `apiKey`; see {@link bindFetch}. */
  readonly fetch: Fetch
}

const KEY = /^[\x21-\x7e]{1,1024}$/

/**
 * Chooses address, key and connection for a request (docs/api.md#agent). The server's key is sent only to the
 * provider's default origin, its replacement in the settings, or an origin that the settings allow. Every other origin
 * is refused, even with the caller's own key, because the prompt and the tool results are as confidential as a
 * key. Throws `INVALID_REQUEST`.
 */
export function resolveModelEndpoint(request: ModelEndpointRequest, settings: ModelEndpointSettings): ModelEndpoint {
  const { provider, callerKey } = request
  if (provider === 'builtin') throw invalidApiBase('cannot be used with builtin, which uses no network')
  if (callerKey !== undefined && !KEY.test(callerKey)) {
    throw new DomainError('INVALID_REQUEST', 'X-Model-Api-Key must be 1 to 1024 printable characters without spaces')
  }
  const serverBase = settings.serverBases[provider]
  const own = serverBase ?? publicAddress(provider)
  const baseURL = chooseBase(request.apiBase?.trim() ?? '', { own, provider, allowed: settings.allowedBases })
  const { origin } = new URL(baseURL)
  const apiKey = callerKey ?? settings.keys[provider]
  // Addresses in the settings may be on this machine or its network; the provider's default must be public.
  const isPublic = serverBase === undefined && own !== undefined && origin === new URL(own).origin
  const fetch = bindFetch(isPublic ? settings.guardedFetch : settings.plainFetch, { origin, apiKey })
  return { baseURL, apiKey, fetch }
}

/** The public address of a provider; undefined for providers that run only where the settings say. */
function publicAddress(provider: RemoteProviderName): string | undefined {
  const { baseURL } = PROVIDERS[provider]
  return baseURL.startsWith('https:') ? baseURL : undefined
}

interface Bases {
  readonly own: string | undefined
  readonly provider: RemoteProviderName
  readonly allowed: readonly string[]
}

function chooseBase(apiBase: string, { own, provider, allowed }: Bases): string {
  if (apiBase === '' && own !== undefined) return own
  if (apiBase === '') {
    const message = `provider: ${provider} is not configured here: set ${PROVIDERS[provider].baseVariable}`
    throw new DomainError('INVALID_REQUEST', message, { fields: [{ path: 'provider', message: 'is not configured' }] })
  }
  const url = parseApiBase(apiBase)
  const isOwn = own !== undefined && url.origin === new URL(own).origin
  if (!isOwn && !allowed.some((base) => new URL(base).origin === url.origin)) {
    throw invalidApiBase(`${url.origin} is neither the address of ${provider} nor listed in AGENT_ALLOWED_API_BASES`)
  }
  return isOwn && url.pathname === '/' ? own : url.href
}
