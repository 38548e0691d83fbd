/** Shorter values are no secrets, and would be found everywhere. */
const MIN_LENGTH = 8

interface SecretPattern {
  /** What every match has in it: texts without it are not searched. */
  readonly sign: string
  readonly pattern: RegExp
  /** Default `[secret]`. */
  readonly replacement?: string
}

/**
 * What secrets look like wherever they come from: tokens of this service, keys of providers and of clouds, passwords in
 * URLs. They meet texts that others wrote, of any length: each takes time in proportion to it.
 */
const PATTERNS: readonly SecretPattern[] = [
  { sign: 'lh_', pattern: /\blh_[\w-]{16,}/g },
  { sign: 'sk-', pattern: /\bsk-[\w-]{16,}/g },
  { sign: 'AKIA', pattern: /\bAKIA[A-Z0-9]{16}\b/g },
  { sign: 'ASIA', pattern: /\bASIA[A-Z0-9]{16}\b/g },
  { sign: 'eyJ', pattern: /(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g },
  {
    sign: '-----BEGIN ',
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  },
  {
    sign: '://',
    pattern: /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@:"']{0,300}:[^\s/@"']{1,1000}@/gi,
    replacement: '$1[secret]@',
  },
]

/** Takes secrets out of texts, whole ones or such as grow. */
export interface SecretRedactor {
  redact(text: string): string
  /** Where the end of a text begins that may be the beginning of a secret, once more of it has come. */
  heldFrom(text: string): number
}

/**
 * Takes secrets out of a text: the values that `known` lists, as they are and as JSON writes them, and whatever looks
 * like a token, a key or a password in a URL.
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
      for (const { sign, pattern, replacement = '[secret]' } of PATTERNS) {
        if (clean.includes(sign)) clean = clean.replace(pattern, replacement)
      }
      return clean
    },
    heldFrom: (text) => Math.min(openPatternAt(text), ...secrets().map((value) => openValueAt(text, value))),
  }
}

const KEY_BEGIN = '-----BEGIN '
const KEY_END = /-----END [A-Z ]*PRIVATE KEY-----/

/** All patterns but one are of one word, so the last word is held; a private key has lines. */
function openPatternAt(text: string): number {
  const word = text.search(/\S*$/)
  const key = text.lastIndexOf(KEY_BEGIN)
  return key >= 0 && !KEY_END.test(text.slice(key)) ? Math.min(key, word) : word
}

/** Where the end of the text begins that the value begins with; its length where there is none. */
function openValueAt(text: string, value: string): number {
  const first = value.charAt(0)
  for (let at = Math.max(0, text.length - value.length + 1); at < text.length; at += 1) {
    at = text.indexOf(first, at)
    if (at < 0) break
    if (value.startsWith(text.slice(at))) return at
  }
  return text.length
}

/** Longest first, so that no part of a secret is left over when a shorter one is in it. */
function spellings(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.length >= MIN_LENGTH)
  const all = long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  return [...new Set(all)].sort((a, b) => b.length - a.length)
}
