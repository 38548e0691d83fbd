import { DomainError } from '../domain/errors.ts'
import type { ProviderName } from '../domain/model-providers.ts'
import { invalidApiBase, parseApiBase } from './api-base.ts'
import { bindFetch } from './bound-fetch.ts'
import { PROVIDERS, type RemoteProviderName } from './providers.ts'

/** What the server knows about where models may be asked; records are keyed by the provider's name. */
export interface ModelEndpointSettings {
  /** Keys that the server holds. */
  readonly keys: Readonly<Record<string, string | undefined>>
  /** Addresses beside the provider's own that a request may name; their origins count. */
  readonly allowedBases: readonly string[]
  /** Addresses that the server's settings put in place of a provider's own. */
  readonly serverBases: Readonly<Record<string, string | undefined>>
  /** Connects to public addresses only. */
  readonly guardedFetch: typeof fetch
  /** Connects to anything: for addresses that the server's settings name. */
  readonly plainFetch: typeof fetch
}

/** What a request asks for. */
export interface ModelEndpointRequest {
  readonly provider: ProviderName
  /** Null, undefined and blank: the provider's own. */
  readonly apiBase: string | null | undefined
  /** A key that came with the request; it goes in place of the server's. */
  readonly callerKey?: string | undefined
}

/** Where and how a model is asked. */
export interface ModelEndpoint {
  readonly baseURL: string
  readonly apiKey: string | undefined
  /** Reaches the origin of `baseURL` and no other, with `apiKey` and no other; see {@link bindFetch}. */
  readonly fetch: typeof fetch
}

const KEY = /^[\x21-\x7e]{1,1024}$/

/**
 * Chooses address, key and connection for a request (contract, section 8). A key that the server holds goes to the
 * provider's own origin, or the one that the settings put in its place, or one that the settings allow. Every other
 * origin is refused, even with a key of the caller's, for the prompt and what tools found are as secret as a key.
 * Throws `INVALID_REQUEST`.
 */
export function resolveModelEndpoint(request: ModelEndpointRequest, settings: ModelEndpointSettings): ModelEndpoint {
  const { provider, callerKey } = request
  if (provider === 'builtin') throw invalidApiBase('makes no sense for builtin, which uses no network')
  if (callerKey !== undefined && !KEY.test(callerKey)) {
    throw new DomainError('INVALID_REQUEST', 'X-Model-Api-Key must be 1 to 1024 printable characters without spaces')
  }
  const serverBase = settings.serverBases[provider]
  const own = serverBase ?? publicAddress(provider)
  const baseURL = chooseBase(request.apiBase?.trim() ?? '', { own, provider, allowed: settings.allowedBases })
  const { origin } = new URL(baseURL)
  const apiKey = callerKey ?? settings.keys[provider]
  // What the settings name may be on this machine and its network; nothing else is.
  const isPublic = serverBase === undefined && own !== undefined && origin === new URL(own).origin
  const fetch = bindFetch(isPublic ? settings.guardedFetch : settings.plainFetch, { origin, apiKey })
  return { baseURL, apiKey, fetch }
}

/** The address of a provider that has one on the internet; others live where the settings say, and nowhere else. */
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
    throw invalidApiBase(`${url.origin} is neither the address of ${provider} nor one that AGENT_ALLOWED_API_BASES has`)
  }
  return isOwn && url.pathname === '/' ? own : url.href
}
