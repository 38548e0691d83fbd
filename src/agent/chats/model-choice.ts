import type { ChatModel } from '../model/chat-model.ts'
import { type ModelEndpoint, type ModelEndpointSettings, resolveModelEndpoint } from '../model/model-endpoint.ts'
import { createOpenAiModel, firstModel } from '../model/openai/openai-model.ts'
import { BUILTIN_MODEL, type Provider, PROVIDERS, type RemoteProviderName } from '../model/providers.ts'
import { DomainError } from '../../domain/errors.ts'
import { PROVIDER_NAMES, type ProviderName } from '../../domain/model-providers.ts'

export interface ModelChoiceSettings {
  readonly endpoints: ModelEndpointSettings
  /** For requests without a provider; undefined: the first configured one. */
  readonly provider: ProviderName | undefined
  /** For requests without provider and model; undefined: the provider's default. */
  readonly model: string | undefined
  readonly redact: (text: string) => string
  readonly now: () => Date
}

/** The model selected by a request. */
export interface RequestedModel {
  readonly provider?: ProviderName | undefined
  readonly model?: string | undefined
  readonly api_base?: string | null | undefined
  /** A key sent with the request; it is used for this request only and not stored. */
  readonly callerKey?: string | undefined
}

/** A provider as the API shows it, without keys. */
export interface ProviderView {
  readonly name: ProviderName
  readonly configured: boolean
  readonly default_model: string | null
}

/** Chooses models according to the server's settings. */
export interface ModelChoice {
  readonly defaultProvider: ProviderName
  /** Default model of {@link defaultProvider}; null: the first one that it lists. */
  readonly defaultModel: string | null
  providers(): readonly ProviderView[]
  /**
   * Throws `INVALID_REQUEST` when the settings do not allow the model, and `MODEL_UNAVAILABLE`, `MODEL_BUSY` or
   * `MODEL_TIMEOUT` when the provider's model list is needed and cannot be read.
   */
  choose(wanted: RequestedModel, signal: AbortSignal): Promise<ChatModel>
}

/** Creates the model choice. */
export function createModelChoice(settings: ModelChoiceSettings): ModelChoice {
  const isConfigured = (name: ProviderName): boolean => name === 'builtin' || isRemoteConfigured(settings, name)
  const defaultProvider = settings.provider ?? PROVIDER_NAMES.find(isConfigured) ?? 'builtin'
  const defaultModelOf = (name: ProviderName): string | undefined => {
    if (name === 'builtin') return BUILTIN_MODEL
    return (name === defaultProvider ? settings.model : undefined) ?? PROVIDERS[name].defaultModel
  }
  return {
    defaultProvider,
    defaultModel: defaultModelOf(defaultProvider) ?? null,
    providers: () =>
      PROVIDER_NAMES.map((name) => ({
        name,
        configured: isConfigured(name),
        default_model: defaultModelOf(name) ?? null,
      })),
    async choose({ provider = defaultProvider, model, api_base: apiBase, callerKey }, signal) {
      if (provider === 'builtin') {
        if (apiBase) resolveModelEndpoint({ provider, apiBase }, settings.endpoints)
        const { createBuiltinModel } = await import('../builtin/builtin-model.ts') // large: loaded only when needed
        return createBuiltinModel(settings.now)
      }
      const endpoint = resolveModelEndpoint({ provider, apiBase, callerKey }, settings.endpoints)
      requireKey(settings, { provider, endpoint, isOwnAddress: !apiBase })
      const { redact } = settings
      const name = model ?? defaultModelOf(provider) ?? (await firstModel({ provider, endpoint, redact }, signal))
      return createOpenAiModel({ provider, model: name, endpoint, redact })
    },
  }
}

/** Whether a provider is configured: by an address, or by a key when it has a public address. */
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

/** Throws `INVALID_REQUEST` when the provider needs a key and there is none. */
function requireKey({ endpoints }: ModelChoiceSettings, { provider, endpoint, isOwnAddress }: Chosen): void {
  const { needsKey, keyVariable } = providerOf(provider)
  if (endpoint.apiKey !== undefined || !needsKey || !isOwnAddress || endpoints.serverBases[provider] !== undefined)
    return
  const message = `provider: ${provider} is not configured here: set ${keyVariable}, or send a key in X-Model-Api-Key`
  throw new DomainError('INVALID_REQUEST', message, { fields: [{ path: 'provider', message: 'is not configured' }] })
}
