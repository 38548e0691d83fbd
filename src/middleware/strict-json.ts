/** Why a text was not accepted; the message is for the client and says where. */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError'
}

const MAX_DEPTH = 64
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|-?\d[\d.eE+-]*/g

/**
 * Parses a JSON text of which every reader must understand the same (I-JSON, RFC 7493): UTF-8, no member twice, no
 * `__proto__`, no number that would be changed by reading it, no text with NUL or half a surrogate pair, at most 64
 * levels. Throws {@link StrictJsonError}.
 */
export function parseStrictJson(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  const value = parse(text)
  checkTokens(text)
  return value
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new StrictJsonError('is not valid UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new StrictJsonError('is not valid JSON')
  }
}

/** Walks the tokens of a text that is valid JSON. */
function checkTokens(text: string): void {
  // For each open object the names seen so far; for each open array nothing.
  const open: (Set<string> | undefined)[] = []
  let last = ''
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : undefined)
      if (open.length > MAX_DEPTH) throw new StrictJsonError(`is nested deeper than ${MAX_DEPTH} levels`)
    } else if (token === '}' || token === ']') open.pop()
    else if (token === ':') addMember(open.at(-1), decodeString(last))
    else if (token.startsWith('"')) checkString(token)
    else if (token !== ',') checkNumber(token)
    last = token
  }
}

function addMember(names: Set<string> | undefined, name: string): void {
  if (name === '__proto__') throw new StrictJsonError('has a member __proto__')
  if (names?.has(name)) throw new StrictJsonError(`has the member ${JSON.stringify(name.slice(0, 100))} twice`)
  names?.add(name)
}

function checkString(token: string): void {
  if (!token.includes('\\u')) return
  const text = decodeString(token)
  if (!text.isWellFormed()) throw new StrictJsonError('has a text with half a surrogate pair')
  if (text.includes('\0')) throw new StrictJsonError('has a text with a NUL character')
}

function checkNumber(token: string): void {
  const value = Number(token)
  if (!Number.isFinite(value)) throw new StrictJsonError(`has the number ${token.slice(0, 30)}, which is out of range`)
  // An integer that is written back as it came, such as 100000000000000000000, loses nothing.
  if (!Number.isSafeInteger(value) && /^-?\d+$/.test(token) && String(value) !== token) {
    throw new StrictJsonError(
      `has the integer ${token.slice(0, 30)}, which a JSON number does not hold exactly: send text`,
    )
  }
}

function decodeString(token: string): string {
  return String(JSON.parse(token))
}
