import type { ChatModel } from '../../agent/chat-model.ts'
import { BUILTIN_MODEL, createBuiltinModel } from '../../agent/builtin/builtin-model.ts'
import { type ModelEndpoint, type ModelEndpointSettings, resolveModelEndpoint } from '../../agent/model-endpoint.ts'
import { createOpenAiModel, firstModel } from '../../agent/openai/openai-model.ts'
import { type Provider, PROVIDERS, type RemoteProviderName } from '../../agent/providers.ts'
import { DomainError } from '../../domain/errors.ts'
import { PROVIDER_NAMES, type ProviderName } from '../../domain/model-providers.ts'

export interface ModelChoiceSettings {
  readonly endpoints: ModelEndpointSettings
  /** For requests that name none; undefined: the first that is configured. */
  readonly provider: ProviderName | undefined
  /** For requests that name neither provider nor model; undefined: the provider's usual one. */
  readonly model: string | undefined
  readonly redact: (text: string) => string
  readonly now: () => Date
}

/** The model that a request asks for. */
export interface WantedModel {
  readonly provider?: ProviderName | undefined
  readonly model?: string | undefined
  readonly api_base?: string | null | undefined
  /** A key that came with the request; it is used for this request and kept nowhere. */
  readonly callerKey?: string | undefined
}

/** A provider as the interface shows it: never a key. */
export interface ProviderView {
  readonly name: ProviderName
  readonly configured: boolean
  readonly default_model: string | null
}

/** Chooses models by the settings of the server. */
export interface ModelChoice {
  readonly defaultProvider: ProviderName
  /** Of {@link defaultProvider}; null: the first that it has. */
  readonly defaultModel: string | null
  providers(): readonly ProviderView[]
  /** Throws `INVALID_REQUEST` for what the settings do not allow, `MODEL_UNAVAILABLE` and its kin when it has to ask. */
  choose(wanted: WantedModel, signal: AbortSignal): Promise<ChatModel>
}

/** Model choice over settings. */
export function createModelChoice(settings: ModelChoiceSettings): ModelChoice {
  const isConfigured = (name: ProviderName): boolean => name === 'builtin' || isRemoteConfigured(settings, name)
  const defaultProvider = settings.provider ?? PROVIDER_NAMES.find(isConfigured) ?? 'builtin'
  const usualModel = (name: ProviderName): string | undefined => {
    if (name === 'builtin') return BUILTIN_MODEL
    return (name === defaultProvider ? settings.model : undefined) ?? PROVIDERS[name].defaultModel
  }
  return {
    defaultProvider,
    defaultModel: usualModel(defaultProvider) ?? null,
    providers: () =>
      PROVIDER_NAMES.map((name) => ({
        name,
        configured: isConfigured(name),
        default_model: usualModel(name) ?? null,
      })),
    async choose({ provider = defaultProvider, model, api_base: apiBase, callerKey }, signal) {
      if (provider === 'builtin') {
        if (apiBase) resolveModelEndpoint({ provider, apiBase }, settings.endpoints)
        return createBuiltinModel(settings.now)
      }
      const endpoint = resolveModelEndpoint({ provider, apiBase, callerKey }, settings.endpoints)
      requireKey(settings, { provider, endpoint, isOwnAddress: !apiBase })
      const { redact } = settings
      const name = model ?? usualModel(provider) ?? (await firstModel({ provider, endpoint, redact }, signal))
      return createOpenAiModel({ provider, model: name, endpoint, redact })
    },
  }
}

/** Set up on purpose: by an address or, where it has one of its own, by a key. */
function isRemoteConfigured({ endpoints }: ModelChoiceSettings, name: RemoteProviderName): boolean {
  if (endpoints.serverBases[name] !== undefined) return true
  return providerOf(name).needsKey && endpoints.keys[name] !== undefined
}

function providerOf(name: RemoteProviderName): Provider {
  return PROVIDERS[name]
}

interface Chosen {
  readonly provider: RemoteProviderName
  readonly endpoint: ModelEndpoint
  readonly isOwnAddress: boolean
}

/** A provider that answers nobody without a key is not asked without one. */
function requireKey({ endpoints }: ModelChoiceSettings, { provider, endpoint, isOwnAddress }: Chosen): void {
  const { needsKey, keyVariable } = providerOf(provider)
  if (endpoint.apiKey !== undefined || !needsKey || !isOwnAddress || endpoints.serverBases[provider] !== undefined)
    return
  const message = `provider: ${provider} is not configured here: set ${keyVariable}, or send a key in X-Model-Api-Key`
  throw new DomainError('INVALID_REQUEST', message, { fields: [{ path: 'provider', message: 'is not configured' }] })
}
