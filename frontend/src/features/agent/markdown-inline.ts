/** Text inside of a block. Links keep their address as text: nothing in an answer can be followed or loaded. */
export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'emphasis' | 'strike'; readonly children: readonly Inline[] }
  | { readonly kind: 'link'; readonly label: string; readonly address: string; readonly isImage: boolean }
  | { readonly kind: 'break' }

const MAX_DEPTH = 8

const MARKS = [
  { mark: '**', kind: 'strong' },
  { mark: '__', kind: 'strong' },
  { mark: '~~', kind: 'strike' },
  { mark: '*', kind: 'emphasis' },
  { mark: '_', kind: 'emphasis' },
] as const

const SPECIAL = /[\\`*_~![\n]/g
const ESCAPABLE = /[!-/:-@[-`{-~]/

/** Parses the inline part of Markdown (CommonMark, section 6, without HTML and entities). Never throws. */
export function parseInline(source: string, depth = 0): Inline[] {
  const out: Inline[] = []
  const reading: Reading = { source, depth, unclosed: new Set() }
  let plain = ''
  let at = 0
  const flush = (): void => {
    if (plain !== '') out.push({ kind: 'text', text: plain })
    plain = ''
  }
  while (at < source.length) {
    const next = nextSpecial(source, at)
    plain += source.slice(at, next)
    at = next
    if (at === source.length) break
    const found = readSpecial(reading, at)
    if (found === undefined) {
      plain += source[at] ?? ''
      at += 1
      continue
    }
    if (found.item.kind === 'text') plain += found.item.text
    else {
      flush()
      out.push(found.item)
    }
    at = found.end
  }
  flush()
  return out
}

function nextSpecial(source: string, from: number): number {
  SPECIAL.lastIndex = from
  return SPECIAL.exec(source)?.index ?? source.length
}

interface Reading {
  readonly source: string
  readonly depth: number
  /** Marks that nothing closes from here on, so that each is looked for once. */
  readonly unclosed: Set<string>
}

interface Found {
  readonly item: Inline
  readonly end: number
}

function readSpecial(reading: Reading, at: number): Found | undefined {
  const { source, depth } = reading
  const char = source[at]
  if (char === '\\') return readEscape(source, at)
  if (char === '\n') return { item: source.endsWith('  ', at) ? { kind: 'break' } : text(' '), end: at + 1 }
  if (char === '`') return readCode(source, at)
  if (char === '[' || char === '!') return readLink(reading, at)
  return depth < MAX_DEPTH ? readMarked(reading, at) : undefined
}

function readEscape(source: string, at: number): Found | undefined {
  const escaped = source[at + 1]
  if (escaped === '\n') return { item: { kind: 'break' }, end: at + 2 }
  return escaped !== undefined && ESCAPABLE.test(escaped) ? { item: text(escaped), end: at + 2 } : undefined
}

function readCode(source: string, at: number): Found | undefined {
  let ticks = 1
  while (source[at + ticks] === '`') ticks += 1
  const fence = '`'.repeat(ticks)
  const close = source.indexOf(fence, at + ticks)
  if (close < 0 || source[close + ticks] === '`') return { item: text(fence), end: at + ticks }
  const inner = source.slice(at + ticks, close).replaceAll('\n', ' ')
  const isPadded = inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== ''
  return { item: { kind: 'code', text: isPadded ? inner.slice(1, -1) : inner }, end: close + ticks }
}

function readLink({ source, unclosed }: Reading, at: number): Found | undefined {
  const isImage = source[at] === '!'
  const open = isImage ? at + 1 : at
  if (source[open] !== '[' || unclosed.has('[')) return undefined
  const close = source.indexOf('](', open)
  if (close < 0) unclosed.add('[')
  const end = close < 0 ? -1 : source.indexOf(')', close)
  if (end < 0 || source.slice(open, end).includes('\n')) return undefined
  const label = source.slice(open + 1, close)
  const address = source
    .slice(close + 2, end)
    .trim()
    .replace(/\s+["'(].*$/, '')
  return { item: { kind: 'link', label, address, isImage }, end: end + 1 }
}

function readMarked({ source, depth, unclosed }: Reading, at: number): Found | undefined {
  for (const { mark, kind } of MARKS) {
    if (unclosed.has(mark) || !source.startsWith(mark, at)) continue
    const start = at + mark.length
    if (/^(\s|$)/.test(source.slice(start, start + 1))) continue
    if (mark.startsWith('_') && isWord(source[at - 1])) continue
    const close = closingMark(source, start, mark)
    if (close < 0) {
      unclosed.add(mark)
      continue
    }
    const children = parseInline(source.slice(start, close), depth + 1)
    return { item: { kind, children }, end: close + mark.length }
  }
  return undefined
}

function closingMark(source: string, start: number, mark: string): number {
  for (let at = source.indexOf(mark, start + 1); at >= 0; at = source.indexOf(mark, at + 1)) {
    const before = source[at - 1]
    const after = source[at + mark.length]
    if (before === ' ' || before === '\n' || before === '\\') continue
    if (mark.length === 1 && (after === mark || before === mark)) continue
    if (mark.startsWith('_') && isWord(after)) continue
    return at
  }
  return -1
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}]/u.test(char)
}

function text(value: string): Inline {
  return { kind: 'text', text: value }
}
