import type { ProviderName } from '../domain/model-providers.ts'

/** A provider that answers over the network, in the words of OpenAI's Chat Completions. */
export type RemoteProviderName = Exclude<ProviderName, 'builtin'>

/** What differs between providers; the server's environment may set another base URL and model. */
export interface Provider {
  /**
   * Its own address, to which paths such as `/chat/completions` are added; its origin is where the server's key may go.
   * One without https is only where such a server usually is: it is asked where the settings say, and nowhere else.
   */
  readonly baseURL: string
  /** Environment variable of the key. */
  readonly keyVariable: string
  /** Environment variable of another base URL. */
  readonly baseVariable: string
  /** Whether it answers nobody without a key; others are configured by their base URL alone. */
  readonly needsKey: boolean
  /** For requests that name none; undefined: the first that its `/models` lists. */
  readonly defaultModel: string | undefined
  /** Under which name it takes the limit of an answer. */
  readonly maxTokensField: 'max_completion_tokens' | 'max_tokens'
  /** Whether a stream tells its usage only when asked to, and may be asked. */
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
    // It refuses fields that it does not know, and tells the usage of a stream unasked.
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
