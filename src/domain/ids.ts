const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz' // Crockford's base 32, so that ids sort and read well

const RANDOM_DIGITS = 16

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
  return (prefix) => {
    const ms = nowMs()
    // Within a millisecond, or when the clock goes back, the next id is the previous one plus one.
    if (ms > lastMs || !increment(digits)) digits = randomBytes(RANDOM_DIGITS).map((byte) => byte & 31)
    if (ms > lastMs) {
      lastMs = ms
      time = encodeTime(ms)
    }
    let text = `${prefix}-${time}`
    for (const digit of digits) text += letter(digit)
    return text
  }
}

/** Adds one to a number in base 32; false when it has no successor. */
function increment(digits: Uint8Array): boolean {
  const place = digits.findLastIndex((digit) => digit < 31)
  if (place < 0) return false
  digits[place] = (digits[place] ?? 0) + 1
  digits.fill(0, place + 1)
  return true
}

function letter(digit: number): string {
  return ALPHABET.charAt(digit)
}

function encodeTime(ms: number): string {
  let text = ''
  for (let rest = ms, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) text = letter(rest % 32) + text
  return text
}
