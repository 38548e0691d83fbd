/** Shorter values are no secrets, and would be found everywhere. */
const MIN_LENGTH = 8

/**
 * What secrets look like wherever they come from: tokens of this service, keys of providers and of clouds, passwords in
 * URLs. They meet texts that others wrote, of any length: each takes time in proportion to it.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\blh_[\w-]{16,}/g, '[secret]'],
  [/\bsk-[\w-]{16,}/g, '[secret]'],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, '[secret]'],
  [/(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g, '[secret]'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[secret]'],
  [/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@:"']{0,300}:[^\s/@"']{1,1000}@/gi, '$1[secret]@'],
]

/**
 * Takes secrets out of a text: the values that `known` lists, as they are and as JSON writes them, and whatever looks
 * like a token, a key or a password in a URL.
 */
export function createSecretRedactor(known: () => readonly string[]): (text: string) => string {
  let listed: readonly string[] | undefined
  let values: readonly string[] = []
  return (text) => {
    const current = known()
    if (current !== listed) {
      listed = current
      values = spellings(current)
    }
    let clean = text
    for (const value of values) if (clean.includes(value)) clean = clean.replaceAll(value, '[secret]')
    for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement)
    return clean
  }
}

/** Longest first, so that no part of a secret is left over when a shorter one is in it. */
function spellings(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.length >= MIN_LENGTH)
  const all = long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(all)].sort((a, b) => b.length - a.length)
}
