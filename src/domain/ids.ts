const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz' // Crockford's base 32, so that ids sort and read well

export type IdPrefix = 'op' | 'plan' | 'tok' | 'req' | 'wh' | 'dlv'

/** Makes ids: a prefix, 10 characters of time (ms) and 16 random ones, sortable by time of creation. */
export type IdSource = (prefix: IdPrefix) => string

/** An id source over a clock (ms since the epoch) and a source of random bytes. */
export function createIdSource(nowMs: () => number, randomBytes: (length: number) => Uint8Array): IdSource {
  return (prefix) => `${prefix}-${encodeTime(nowMs())}${Array.from(randomBytes(16), letter).join('')}`
}

function letter(byte: number): string {
  return ALPHABET.charAt(byte & 31)
}

function encodeTime(ms: number): string {
  let text = ''
  for (let rest = ms, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) text = letter(rest % 32) + text
  return text
}
