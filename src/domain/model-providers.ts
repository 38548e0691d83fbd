/** Names of the providers that a request may choose (docs/api.md#agent). */
export const PROVIDER_NAMES = [
  'openai',
  'anthropic',
  'gemini',
  'ollama',
  'openrouter',
  'groq',
  'mistral',
  'deepseek',
  'vllm',
  'builtin',
] as const

export type ProviderName = (typeof PROVIDER_NAMES)[number]

/** Whether the text is the name of a provider. */
export function isProviderName(text: string): text is ProviderName {
  return PROVIDER_NAMES.some((name) => name === text)
}
