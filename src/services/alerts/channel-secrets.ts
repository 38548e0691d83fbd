import type { FieldError } from '../../domain/errors.ts'
import { REDACTED } from '../../domain/network/uri-password.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { type AlertChannel, CHANNEL_SECRETS } from '../../schemas/alerts.ts'
import { SendProblem } from '../outbound/delivery-outcome.ts'
import { urlProblem } from '../outbound/target-url.ts'
import { fieldRefusal, sentenceOf } from '../../schemas/issues.ts'

/** The value of a variable of the server; undefined when it is not set. Throws `INVALID_ARGUMENT` for a forbidden name. */
export type SecretOf = (name: string) => string | undefined

/** What decides whether a channel may be stored. */
export interface ChannelRules {
  readonly secretOf: SecretOf
  /** Whether the host in a URL is allowed; names are resolved only when something is sent. */
  readonly isAllowedHost: (host: string) => boolean
  readonly newSigningSecret: () => string
  /** Whether the installation has a mail server. */
  readonly canMail: boolean
}

/** A channel to store. */
export interface SettledChannel {
  readonly channel: AlertChannel
  /** The secret that was made for it. */
  readonly newSecret: string | undefined
}

const ENV = 'env:'

/**
 * The channel of a request with the secrets that it keeps from `stored`, and a new one when a webhook has none. Throws
 * `UNPROCESSABLE` for addresses and variables that are not allowed, and for `***` without a stored value.
 */
export function settleChannel(
  asked: AlertChannel,
  stored: AlertChannel | undefined,
  rules: ChannelRules,
): SettledChannel {
  const same = stored?.type === asked.type ? stored : undefined
  const kept = withSecrets(asked, (path, value) => (value === REDACTED ? keptValue(path, same) : value))
  requireSameAddress(asked, same)
  if (asked.type === 'email' && !rules.canMail) refuse('type', 'SMTP_URL and SMTP_FROM of the service are not set')
  const [problem] = problemsOf(kept, rules)
  if (problem) refuse(problem.path, problem.message)
  if (kept.type !== 'webhook' || kept.secret !== undefined) return { channel: kept, newSecret: undefined }
  const before = same?.type === 'webhook' ? same.secret : undefined
  if (before !== undefined) return { channel: { ...kept, secret: before }, newSecret: undefined }
  const secret = rules.newSigningSecret()
  return { channel: { ...kept, secret }, newSecret: secret }
}

/** A routing key is kept for the address that it was given for. */
function requireSameAddress(asked: AlertChannel, stored: AlertChannel | undefined): void {
  if (asked.type !== 'pagerduty' || asked.routing_key !== REDACTED || stored?.type !== 'pagerduty') return
  if (stored.url === asked.url) return
  refuse('routing_key', 'must be sent again: url changes, so the stored value would go to another address')
}

/** A channel as it is shown: secrets as `***`, references to variables as they are. */
export function hideSecrets(channel: AlertChannel): AlertChannel {
  return withSecrets(channel, (_path, value) => (value.startsWith(ENV) ? value : REDACTED))
}

/** A channel to send with. Throws `SendProblem` when a variable is not set, or does not hold what it should. */
export function resolveSecrets(channel: AlertChannel, { secretOf, isAllowedHost }: ChannelRules): AlertChannel {
  return withSecrets(channel, (path, value) => {
    if (!value.startsWith(ENV)) return value
    const text = isReadable(value, secretOf) ? secretOf(value.slice(ENV.length)) : undefined
    if (text === undefined || text === '')
      throw new SendProblem(sentenceOf({ path, message: `${value} is not set` }, ''))
    const problem = path === 'url' ? urlProblem(text, isAllowedHost) : undefined
    if (problem !== undefined)
      throw new SendProblem(sentenceOf({ path, message: `the value of ${value} ${problem}` }, ''))
    if (path === 'secret' && !/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) {
      throw new SendProblem(sentenceOf({ path, message: `the value of ${value} must be whsec_ and base64` }, ''))
    }
    return text
  })
}

/** Where a channel sends to, without what is secret. */
export function destinationOf(channel: AlertChannel): string {
  if (channel.type === 'email') return channel.to.join(', ')
  return URL.parse(channel.url)?.host || channel.url
}

function withSecrets(channel: AlertChannel, change: (path: string, value: string) => string): AlertChannel {
  const secret = CHANNEL_SECRETS[channel.type]
  const entries = Object.entries(channel).map(([path, value]): [string, unknown] => [
    path,
    secret.includes(path) && typeof value === 'string' ? change(path, value) : value,
  ])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members keep their types
  return Object.fromEntries(entries) as AlertChannel
}

function keptValue(path: string, stored: AlertChannel | undefined): string {
  const value = Object.entries(stored ?? {}).find(([key]) => key === path)?.[1]
  if (typeof value === 'string') return value
  refuse(path, 'has no stored value to keep')
}

function problemsOf(channel: AlertChannel, { secretOf, isAllowedHost }: ChannelRules): readonly FieldError[] {
  return Object.entries(channel).flatMap(([path, value]) => {
    if (typeof value !== 'string') return []
    if (value.startsWith(ENV) && CHANNEL_SECRETS[channel.type].includes(path)) {
      const rule = 'only names that start with LAKE_, or are listed in CONFIG_ENV_ALLOW, can be used'
      return isReadable(value, secretOf) ? [] : [{ path, message: `${value} cannot be read: ${rule}` }]
    }
    const problem = path === 'url' ? urlProblem(value, isAllowedHost) : undefined
    return problem === undefined ? [] : [{ path, message: problem }]
  })
}

function isReadable(reference: string, secretOf: SecretOf): boolean {
  try {
    secretOf(reference.slice(ENV.length))
    return true
  } catch (error) {
    if (isIcebergError(error, 'INVALID_ARGUMENT')) return false
    throw error
  }
}

function refuse(member: string, message: string): never {
  const path = `channel.${member}`
  throw fieldRefusal('UNPROCESSABLE', [{ path, message }])
}
