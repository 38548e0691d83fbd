import { checkJsonShape, type JsonShape, JsonShapeError } from './json-shape.ts'

/** Why a text was refused; the message is for the client and contains the position. */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError'
}

const SHAPE: JsonShape = { maxDepth: 64, maxValues: 100_000, maxValuesInOne: 10_000 }

/**
 * Parses JSON that every parser reads the same way (I-JSON, RFC 7493): UTF-8, no duplicate members, no `__proto__`, no
 * number that loses precision, no text with NUL or an unpaired surrogate. At most 64 levels, 10,000 values in one object
 * or array and 100,000 in total: limits are checked before parsing.
 * Throws {@link StrictJsonError}.
 */
export function parseStrictJson(bytes: Uint8Array): unknown {
  checkShape(bytes)
  const text = decode(bytes)
  const value = parse(text)
  checkTokens(text)
  return value
}

const BACKSLASH = 0x5c

function checkShape(bytes: Uint8Array): void {
  try {
    checkJsonShape(bytes, SHAPE)
  } catch (error) {
    throw error instanceof JsonShapeError ? new StrictJsonError(error.message) : error
  }
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

/** Start of a token; strings are scanned by hand because a pattern would need a stack as deep as the string is long. */
const TOKEN_START = /["{}[\],:]|-?\d[\d.eE+-]*/g

/** Walks the tokens of a text that is valid JSON. */
function checkTokens(text: string): void {
  // For each open object the names seen so far; for each open array nothing.
  const open: (Set<string> | undefined)[] = []
  let last = ''
  TOKEN_START.lastIndex = 0
  for (let found = TOKEN_START.exec(text); found !== null; found = TOKEN_START.exec(text)) {
    let [token] = found
    if (token === '"') {
      token = stringAt(text, found.index)
      TOKEN_START.lastIndex = found.index + token.length
      checkString(token)
    } else if (token === '{' || token === '[') open.push(token === '{' ? new Set() : undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token === ':') addMember(open.at(-1), decodeString(last))
    else if (token !== ',') checkNumber(token)
    last = token
  }
}

/** The string token that starts at `start`, with its quotes. */
function stringAt(text: string, start: number): string {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return text.slice(start, end + 1)
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1
  return backslashes % 2 === 1
}

function addMember(names: Set<string> | undefined, name: string): void {
  if (name === '__proto__') throw new StrictJsonError('has a member __proto__')
  if (names?.has(name)) throw new StrictJsonError(`has the member ${JSON.stringify(name.slice(0, 100))} twice`)
  names?.add(name)
}

function checkString(token: string): void {
  if (!token.includes('\\u')) return
  const text = decodeString(token)
  if (!text.isWellFormed()) throw new StrictJsonError('has a text with an unpaired surrogate')
  if (text.includes('\0')) throw new StrictJsonError('has a text with a NUL character')
}

function checkNumber(token: string): void {
  const value = Number(token)
  if (!Number.isFinite(value)) throw new StrictJsonError(`has the number ${token.slice(0, 30)}, which is out of range`)
  // An integer that round-trips exactly, such as 100000000000000000000, is accepted.
  if (!Number.isSafeInteger(value) && /^-?\d+$/.test(token) && String(value) !== token) {
    throw new StrictJsonError(
      `has the integer ${token.slice(0, 30)}, which a JSON number does not hold exactly: send text`,
    )
  }
}

function decodeString(token: string): string {
  return token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1)
}
