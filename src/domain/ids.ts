const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz' // Crockford's base 32, so that ids sort and read well

const RANDOM_DIGITS = 16
const HEAD_DIGITS = 13
/** Numbers of the digits behind the head. */
const TAILS = 32 ** (RANDOM_DIGITS - HEAD_DIGITS)

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
  let digits = new Uint8Array(HEAD_DIGITS)
  let head = ''
  /** The number of the last digits. Every request gets an id, and most differ from the one before in these only. */
  let tail = 0
  const restart = (): void => {
    const random = randomBytes(RANDOM_DIGITS).map((byte) => byte & 31)
    digits = random.subarray(0, HEAD_DIGITS)
    tail = random.subarray(HEAD_DIGITS).reduce((number, digit) => number * 32 + digit, 0)
  }
  return (prefix) => {
    const ms = nowMs()
    // Within a millisecond, or when the clock goes back, the next id is the previous one plus one.
    tail += 1
    if (ms > lastMs) {
      lastMs = ms
      time = encodeTime(ms)
      restart()
      head = time + encode(digits)
    } else if (tail === TAILS) {
      tail = 0
      if (!increment(digits)) restart()
      head = time + encode(digits)
    }
    return `${prefix}-${head}${letter(tail >> 10)}${letter((tail >> 5) & 31)}${letter(tail & 31)}`
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

function encode(digits: Uint8Array): string {
  return Array.from(digits, letter).join('')
}

function letter(digit: number): string {
  return ALPHABET.charAt(digit)
}

function encodeTime(ms: number): string {
  let text = ''
  for (let rest = ms, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) text = letter(rest % 32) + text
  return text
}
