import type { CatalogSettings } from '../../catalog/settings.ts'
import { REDACTED } from '../../domain/network/uri-password.ts'

/** Shorter parts of a value, and shorter values of unknown properties, would be found in any text. */
const MIN_LENGTH = 8

/** Names of properties whose value is a secret, however short it is. */
const SECRET_NAME = /token|credential|secret|password|key|sas|connection/i

/** Secrets by their form, such as those that a server repeats: bearer tokens, signatures, and passwords in addresses. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic|negotiate)\s+[\w.~+/=:-]{4,}/gi, `$1 ${REDACTED}`],
  [/(\w+:\/\/[^/?#\s:@]*):[^/?#\s@]*@/g, `$1:${REDACTED}@`],
  [
    /\b((?:sig|signature|password|secret|client_secret|token|access_token|x-amz-[\w-]+)=)[^&\s"',;)]+/gi,
    `$1${REDACTED}`,
  ],
]

/** Replaces the secrets in texts about a catalog. */
export type Redact = (text: string) => string

/**
 * Replaces the given secrets, their parts and their encoded forms, and whatever looks like a credential, by `***`. `named` are
 * the properties with hidden values by name, `env:NAME` already looked up.
 */
export function redactor(named: readonly (readonly [name: string, value: string])[]): Redact {
  const secrets = named.flatMap(([name, value]) => (isSecret(name, value) ? [value, ...partsOf(value)] : []))
  const texts = [...new Set(secrets.flatMap((secret) => [secret, encodeURIComponent(secret), base64(secret)]))]
  const longestFirst = texts.filter((text) => text !== '').toSorted((a, b) => b.length - a.length)
  return (text) => {
    const hidden = longestFirst.reduce((shown, secret) => shown.replaceAll(secret, REDACTED), text)
    return FORMS.reduce((shown, [form, instead]) => shown.replace(form, instead), hidden)
  }
}

function isSecret(name: string, value: string): boolean {
  return value.length >= MIN_LENGTH || (SECRET_NAME.test(name) && value !== '')
}

/** A client secret after its id, the key in a connection string, the signature of a SAS token. */
function partsOf(value: string): readonly string[] {
  const parts = value.split(/[;&]/).flatMap((part) => [part, part.slice(part.search(/[:=]/) + 1)])
  const afterColon = value.slice(value.indexOf(':') + 1)
  return [afterColon, ...parts].filter((part) => part.length >= MIN_LENGTH || part === afterColon)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Looks up the `env:NAME` values of settings; values that cannot be read are left out, because no request uses them. */
export function readValues(
  { extraProps }: CatalogSettings,
  readSecret: (name: string) => string | undefined,
): readonly (readonly [name: string, value: string])[] {
  return Object.entries(extraProps).flatMap(([name, value]) => {
    if (!value.startsWith('env:')) return [[name, value] as const]
    try {
      return [[name, readSecret(value.slice('env:'.length)) ?? ''] as const]
    } catch {
      return [] // opening the catalog reports the variable
    }
  })
}
