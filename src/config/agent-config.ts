import { z } from 'zod'
import { type Provider, PROVIDERS } from '../agent/model/providers.ts'
import { isProviderName, PROVIDER_NAMES, type ProviderName } from '../domain/model-providers.ts'
import { fromEnv, isPlainHttpUrl, looseListOf, parsed, variable } from './variables.ts'

const DEFAULT_DAILY_TOKENS = 1_000_000
const MAX_DAILY_TOKENS = 1_000_000_000_000

/** Settings of the agent; the records are keyed by the provider's name, such as `openai`. */
export interface AgentConfig {
  /** From `<PROVIDER>_API_KEY`; undefined: the server has no key. */
  readonly keys: Readonly<Record<string, string | undefined>>
  /** From `<PROVIDER>_BASE_URL`; undefined: the provider's default address. */
  readonly bases: Readonly<Record<string, string | undefined>>
  /** `AGENT_ALLOWED_API_BASES`: additional addresses that a request may name; only their origins are compared. */
  readonly allowedBases: readonly string[]
  /** `AGENT_DAILY_TOKENS`: how many tokens a user may use per day (UTC). */
  readonly dailyTokenBudget: number
  /** `AGENT_PROVIDER`: for requests without a provider; undefined: the first with a key, else `builtin`. */
  readonly provider: ProviderName | undefined
  /** `AGENT_MODEL`: for requests without a model; undefined: the provider's default. */
  readonly model: string | undefined
}

// The key is sent in a header: a line break in it would start a second header.
const apiKey = z.string().regex(/^[\x21-\x7e]{1,1024}$/, 'must be 1 to 1024 printable characters without spaces')
const baseUrl = z.string().refine(isPlainHttpUrl, 'must be http(s) addresses without credentials, query and fragment')
const modelName = z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable characters without spaces')
const tokens = z
  .string()
  .refine((text) => /^\d{1,13}$/.test(text) && Number(text) <= MAX_DAILY_TOKENS, {
    error: `must be a whole number up to ${MAX_DAILY_TOKENS}`,
  })
  .transform(Number)
const providerName = parsed(
  (name) => (isProviderName(name) ? name : undefined),
  `must be one of ${PROVIDER_NAMES.join(', ')}`,
)

/** Parses the settings of the agent; error messages never show a key. */
export const agentSettings = fromEnv({
  keys: byProvider(({ keyVariable }) => variable(keyVariable, apiKey.optional())),
  bases: byProvider(({ baseVariable }) => variable(baseVariable, baseUrl.optional())),
  allowedBases: variable('AGENT_ALLOWED_API_BASES', looseListOf(baseUrl)),
  dailyTokenBudget: variable('AGENT_DAILY_TOKENS', tokens.default(DEFAULT_DAILY_TOKENS)),
  provider: variable('AGENT_PROVIDER', providerName.optional()),
  model: variable('AGENT_MODEL', modelName.optional()),
}) satisfies z.ZodType<AgentConfig>

function byProvider<Schema extends z.ZodType>(setting: (provider: Provider) => Schema) {
  return fromEnv(Object.fromEntries(Object.entries(PROVIDERS).map(([name, provider]) => [name, setting(provider)])))
}
