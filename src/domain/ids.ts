const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz' // Crockford's base 32, so that ids sort and read well

const RANDOM_DIGITS = 16
const HEAD_DIGITS = 13

export type IdPrefix =
  | 'op'
  | 'pipe'
  | 'run'
  | 'plan'
  | 'tok'
  | 'req'
  | 'wh'
  | 'dlv'
  | 'def'
  | 'ver'
  | 'pr'
  | 'cmt'
  | 'chat'
  | 'act'
  | 'dep'
  | 'pol'
  | 'dec'
  | 'alr'
  | 'qua'
  | 'rep'

/** Creates ids: a prefix, 10 characters of time (ms) and 16 random ones; each is greater than all previous ones. */
export type IdSource = (prefix: IdPrefix) => string

/** An id source over a clock (ms since the epoch) and a source of random bytes. */
export function createIdSource(nowMs: () => number, randomBytes: (length: number) => Uint8Array): IdSource {
  let lastMs = Number.NEGATIVE_INFINITY
  let time = ''
  let digits = new Uint8Array(RANDOM_DIGITS)
  let head = ''
  return (prefix) => {
    const ms = nowMs()
    // Within a millisecond, or when the clock goes back, the next id is the previous one plus one.
    let changed = ms > lastMs ? -1 : increment(digits)
    if (changed < 0) digits = randomBytes(RANDOM_DIGITS).map((byte) => byte & 31)
    if (ms > lastMs) {
      lastMs = ms
      time = encodeTime(ms)
      changed = 0
    }
    // Every request gets an id, and most differ from the one before in their last digits only.
    if (changed < HEAD_DIGITS) head = time + encode(digits, 0, HEAD_DIGITS)
    return `${prefix}-${head}${encode(digits, HEAD_DIGITS, RANDOM_DIGITS)}`
  }
}

/** Adds one to a number in base 32, and returns the first digit that changes; -1 when it has no successor. */
function increment(digits: Uint8Array): number {
  const place = digits.findLastIndex((digit) => digit < 31)
  if (place < 0) return place
  digits[place] = (digits[place] ?? 0) + 1
  digits.fill(0, place + 1)
  return place
}

function encode(digits: Uint8Array, from: number, to: number): string {
  let text = ''
  for (let at = from; at < to; at++) text += letter(digits[at] ?? 0)
  return text
}

function letter(digit: number): string {
  return ALPHABET.charAt(digit)
}

function encodeTime(ms: number): string {
  let text = ''
  for (let rest = ms, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) text = letter(rest % 32) + text
  return text
}
