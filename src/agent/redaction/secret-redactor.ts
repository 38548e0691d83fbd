/** Shorter values are not treated as secrets: they would match ordinary text. */
const MIN_LENGTH = 8

interface SecretPattern {
  /** A substring of every match: texts without it are not searched. */
  readonly marker: string
  readonly pattern: RegExp
  /** Default `[secret]`. */
  readonly replacement?: string
}

/**
 * Forms of secrets: tokens of this service, keys of providers and clouds, passwords in URLs. They run over untrusted
 * texts of any length, so each pattern must take linear time.
 */
const PATTERNS: readonly SecretPattern[] = [
  { marker: 'lh_', pattern: /\blh_[\w-]{16,}/g },
  { marker: 'sk-', pattern: /\bsk-[\w-]{16,}/g },
  { marker: 'AKIA', pattern: /\bAKIA[A-Z0-9]{16}\b/g },
  { marker: 'ASIA', pattern: /\bASIA[A-Z0-9]{16}\b/g },
  { marker: 'eyJ', pattern: /(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g },
  {
    marker: '-----BEGIN ',
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  },
  {
    marker: '://',
    pattern: /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@:"']{0,300}:[^\s/@"']{1,1000}@/gi,
    replacement: '$1[secret]@',
  },
]

/** Removes secrets from complete texts and from streamed ones. */
export interface SecretRedactor {
  redact(text: string): string
  /** Index of a suffix that may be the start of a secret; the length of the text when there is none. */
  heldFrom(text: string): number
}

/**
 * Removes secrets from a text: the values that `known` lists, plain, JSON-escaped and URL-encoded, and everything that
 * looks like a token, a key or a password in a URL.
 */
export function createSecretRedactor(known: () => readonly string[]): SecretRedactor {
  let listed: readonly string[] | undefined
  let values: readonly string[] = []
  const secrets = (): readonly string[] => {
    const current = known()
    if (current !== listed) {
      listed = current
      values = spellings(current)
    }
    return values
  }
  return {
    redact(text) {
      let clean = text
      for (const value of secrets()) if (clean.includes(value)) clean = clean.replaceAll(value, '[secret]')
      for (const { marker, pattern, replacement = '[secret]' } of PATTERNS) {
        if (clean.includes(marker)) clean = clean.replace(pattern, replacement)
      }
      return clean
    },
    heldFrom: (text) => Math.min(openPatternAt(text), ...secrets().map((value) => openValueAt(text, value))),
  }
}

const KEY_BEGIN = '-----BEGIN '
const KEY_END = /-----END [A-Z ]*PRIVATE KEY-----/

/** All patterns but one match a single word, so the last word is held back; a private key spans several lines. */
function openPatternAt(text: string): number {
  const word = text.search(/\S*$/)
  const key = text.lastIndexOf(KEY_BEGIN)
  return key >= 0 && !KEY_END.test(text.slice(key)) ? Math.min(key, word) : word
}

/** Index of the suffix of the text that is a prefix of the value; the length of the text when there is none. */
function openValueAt(text: string, value: string): number {
  const first = value.charAt(0)
  for (let at = Math.max(0, text.length - value.length + 1); at < text.length; at += 1) {
    at = text.indexOf(first, at)
    if (at < 0) break
    if (value.startsWith(text.slice(at))) return at
  }
  return text.length
}

/** Longest first, so that nothing is left of a secret that contains a shorter one. */
function spellings(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.length >= MIN_LENGTH)
  const all = long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(all)].sort((a, b) => b.length - a.length)
}
