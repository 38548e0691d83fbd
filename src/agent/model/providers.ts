import type { ProviderName } from '../../domain/model-providers.ts'

/** A provider that is called over the network with OpenAI's Chat Completions API. */
export type RemoteProviderName = Exclude<ProviderName, 'builtin'>

/** Differences between providers; the server's environment may set another base URL and model. */
export interface Provider {
  /**
   * Default address, to which paths such as `/chat/completions` are appended; the server's key may be sent to its
   * origin. An http address is only the usual location of such a server and is not called unless the settings name it.
   */
  readonly baseURL: string
  /** Environment variable of the key. */
  readonly keyVariable: string
  /** Environment variable of another base URL. */
  readonly baseVariable: string
  /** Whether it requires a key; other providers are configured by their base URL alone. */
  readonly needsKey: boolean
  /** For requests without a model; undefined: the first one that its `/models` lists. */
  readonly defaultModel: string | undefined
  /** Request field with the token limit of an answer. */
  readonly maxTokensField: 'max_completion_tokens' | 'max_tokens'
  /** Whether `stream_options.include_usage` is needed to get the usage of a stream. */
  readonly askStreamUsage: boolean
}

/** Every remote provider by its name. */
export const PROVIDERS: Readonly<Record<RemoteProviderName, Provider>> = {
  openai: {
    baseURL: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    baseVariable: 'OPENAI_BASE_URL',
    needsKey: true,
    defaultModel: 'gpt-5-mini',
    maxTokensField: 'max_completion_tokens',
    askStreamUsage: true,
  },
  anthropic: {
    baseURL: 'https://api.anthropic.com/v1/',
    keyVariable: 'ANTHROPIC_API_KEY',
    baseVariable: 'ANTHROPIC_BASE_URL',
    needsKey: true,
    defaultModel: 'claude-sonnet-4-5',
    maxTokensField: 'max_tokens',
    askStreamUsage: true,
  },
  gemini: {
    baseURL: 'https://generativelanguage.googleapis.com/v1beta/openai/',
    keyVariable: 'GEMINI_API_KEY',
    baseVariable: 'GEMINI_BASE_URL',
    needsKey: true,
    defaultModel: 'gemini-flash-latest',
    maxTokensField: 'max_tokens',
    askStreamUsage: true,
  },
  ollama: {
    baseURL: 'http://localhost:11434/v1',
    keyVariable: 'OLLAMA_API_KEY',
    baseVariable: 'OLLAMA_BASE_URL',
    needsKey: false,
    defaultModel: undefined,
    maxTokensField: 'max_tokens',
    askStreamUsage: true,
  },
  openrouter: {
    baseURL: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    baseVariable: 'OPENROUTER_BASE_URL',
    needsKey: true,
    defaultModel: 'openrouter/auto',
    maxTokensField: 'max_tokens',
    askStreamUsage: true,
  },
  groq: {
    baseURL: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    baseVariable: 'GROQ_BASE_URL',
    needsKey: true,
    defaultModel: 'openai/gpt-oss-120b',
    maxTokensField: 'max_completion_tokens',
    askStreamUsage: true,
  },
  mistral: {
    baseURL: 'https://api.mistral.ai/v1',
    keyVariable: 'MISTRAL_API_KEY',
    baseVariable: 'MISTRAL_BASE_URL',
    needsKey: true,
    defaultModel: 'mistral-medium-latest',
    maxTokensField: 'max_tokens',
    // It refuses unknown fields, and reports the usage of a stream without being asked.
    askStreamUsage: false,
  },
  deepseek: {
    baseURL: 'https://api.deepseek.com',
    keyVariable: 'DEEPSEEK_API_KEY',
    baseVariable: 'DEEPSEEK_BASE_URL',
    needsKey: true,
    defaultModel: 'deepseek-chat',
    maxTokensField: 'max_tokens',
    askStreamUsage: true,
  },
  vllm: {
    baseURL: 'http://localhost:8000/v1',
    keyVariable: 'VLLM_API_KEY',
    baseVariable: 'VLLM_BASE_URL',
    needsKey: false,
    defaultModel: undefined,
    maxTokensField: 'max_tokens',
    askStreamUsage: true,
  },
}

/** Name of the only model of the provider `builtin`. */
export const BUILTIN_MODEL = 'rules'
