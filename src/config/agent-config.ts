import { type Provider, PROVIDERS } from '../agent/providers.ts'
import { isProviderName, PROVIDER_NAMES, type ProviderName } from '../domain/model-providers.ts'
import { ConfigError } from './config-error.ts'
import type { Env } from './env.ts'

const DEFAULT_DAILY_TOKENS = 1_000_000
const MAX_DAILY_TOKENS = 1_000_000_000_000

/** Settings of the agent; the records are keyed by the provider's name, such as `openai`. */
export interface AgentConfig {
  /** From `<PROVIDER>_API_KEY`; undefined: the server holds none. */
  readonly keys: Readonly<Record<string, string | undefined>>
  /** From `<PROVIDER>_BASE_URL`; undefined: the provider's own address. */
  readonly bases: Readonly<Record<string, string | undefined>>
  /** `AGENT_ALLOWED_API_BASES`: addresses beside the provider's own that a request may name; their origins count. */
  readonly allowedBases: readonly string[]
  /** `AGENT_DAILY_TOKENS`: how many tokens one user may spend in a day (UTC). */
  readonly dailyTokenBudget: number
  /** `AGENT_PROVIDER`: for requests that name none; undefined: the first that has a key, else `builtin`. */
  readonly provider: ProviderName | undefined
  /** `AGENT_MODEL`: for requests that name none; undefined: the provider's usual one. */
  readonly model: string | undefined
}

/** Reads the settings of the agent; throws {@link ConfigError} on a wrong value, without showing a key. */
export function agentConfig(env: Env): AgentConfig {
  return {
    keys: byProvider(({ keyVariable }) => apiKey(env, keyVariable)),
    bases: byProvider(({ baseVariable }) => baseUrl(baseVariable, env[baseVariable])),
    allowedBases: allowedBases(env),
    dailyTokenBudget: dailyTokens(env),
    provider: provider(env),
    model: model(env),
  }
}

function byProvider(read: (provider: Provider) => string | undefined): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(PROVIDERS).map(([name, provider]) => [name, read(provider)]))
}

function apiKey(env: Env, name: string): string | undefined {
  const key = env[name]
  // It goes into a header as it is: a line break in it would be a second header.
  if (key === undefined || /^[\x21-\x7e]{1,1024}$/.test(key)) return key
  throw new ConfigError(`${name} must be 1 to 1024 printable characters without spaces`)
}

function baseUrl(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.parse(text)
  const plain = url && !url.username && !url.password && !url.search && !url.hash
  if (plain && (url.protocol === 'https:' || url.protocol === 'http:')) return text
  throw new ConfigError(`${name} must be http(s) addresses without credentials, query and fragment`)
}

function allowedBases(env: Env): string[] {
  const name = 'AGENT_ALLOWED_API_BASES'
  const texts = (env[name] ?? '').split(',').map((text) => text.trim())
  return texts.flatMap((text) => (text === '' ? [] : [baseUrl(name, text) ?? '']))
}

function dailyTokens(env: Env): number {
  const text = env['AGENT_DAILY_TOKENS']
  if (text === undefined) return DEFAULT_DAILY_TOKENS
  const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN
  if (value <= MAX_DAILY_TOKENS) return value
  throw new ConfigError(`AGENT_DAILY_TOKENS must be a whole number up to ${MAX_DAILY_TOKENS}`)
}

function provider(env: Env): ProviderName | undefined {
  const name = env['AGENT_PROVIDER']
  if (name === undefined || isProviderName(name)) return name
  throw new ConfigError(`AGENT_PROVIDER must be one of ${PROVIDER_NAMES.join(', ')}, not ${JSON.stringify(name)}`)
}

function model(env: Env): string | undefined {
  const name = env['AGENT_MODEL']
  if (name === undefined || /^[\x21-\x7e]{1,200}$/.test(name)) return name
  throw new ConfigError('AGENT_MODEL must be 1 to 200 printable characters without spaces')
}
