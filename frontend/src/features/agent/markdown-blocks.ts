import { type Inline, parseInline } from './markdown-inline.ts'

export type ColumnAlign = 'left' | 'center' | 'right'

/** A block of Markdown, ready to be drawn. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly children: readonly Inline[] }
  | { readonly kind: 'paragraph'; readonly children: readonly Inline[] }
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | { readonly kind: 'quote'; readonly children: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | null; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'table'; readonly head: readonly TableCell[]; readonly rows: readonly (readonly TableCell[])[] }
  | { readonly kind: 'rule' }

export interface TableCell {
  readonly align: ColumnAlign
  readonly children: readonly Inline[]
}

const MAX_DEPTH = 6
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/
const QUOTE = /^ {0,3}> ?(.*)$/
const DELIMITER_CELL = /^:?-+:?$/

/**
 * Parses the Markdown that models write: headings, paragraphs, lists, fenced code, tables, quotes, rules. HTML stays the
 * text that it is. Takes text that is still being written: an open fence runs to the end. Never throws.
 */
export function parseMarkdown(source: string): Block[] {
  return parseLines(source.replaceAll(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n'), 0)
}

/** Reads one block at the beginning of the lines and says how many lines it took; undefined when it is none. */
type BlockReader = (lines: readonly string[], at: number, depth: number) => Read | undefined

interface Read {
  readonly block: Block
  readonly end: number
}

const READERS: readonly BlockReader[] = [readFence, readHeading, readRule, readTable, readQuote, readList]

function parseLines(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = []
  let paragraph: string[] = []
  const flush = (): void => {
    if (paragraph.length > 0) blocks.push({ kind: 'paragraph', children: parseInline(joinLines(paragraph)) })
    paragraph = []
  }
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const read = line.trim() === '' ? undefined : readBlock(lines, at, depth)
    if (read) {
      flush()
      blocks.push(read.block)
      at = read.end
      continue
    }
    if (line.trim() === '') flush()
    else paragraph.push(line.trimStart())
    at += 1
  }
  flush()
  return blocks
}

function readBlock(lines: readonly string[], at: number, depth: number): Read | undefined {
  for (const reader of READERS) {
    const read = reader(lines, at, depth)
    if (read) return read
  }
  return undefined
}

function readFence(lines: readonly string[], at: number): Read | undefined {
  const open = FENCE.exec(lines[at] ?? '')
  if (!open) return undefined
  const [, fence = '', language = ''] = open
  const isClose = (line: string): boolean => {
    const trimmed = line.trim()
    return trimmed.length >= fence.length && trimmed === (fence[0] ?? '').repeat(trimmed.length)
  }
  let end = at + 1
  while (end < lines.length && !isClose(lines[end] ?? '')) end += 1
  const text = lines.slice(at + 1, end).join('\n')
  return { block: { kind: 'code', language: language.trim(), text }, end: end + 1 }
}

function readHeading(lines: readonly string[], at: number): Read | undefined {
  const found = HEADING.exec(lines[at] ?? '')
  if (!found) return undefined
  const [, marks = '', text = ''] = found
  return { block: { kind: 'heading', level: marks.length, children: parseInline(text) }, end: at + 1 }
}

function readRule(lines: readonly string[], at: number): Read | undefined {
  return RULE.test(lines[at] ?? '') ? { block: { kind: 'rule' }, end: at + 1 } : undefined
}

function readQuote(lines: readonly string[], at: number, depth: number): Read | undefined {
  if (depth >= MAX_DEPTH) return undefined
  const inner: string[] = []
  let end = at
  for (let found = QUOTE.exec(lines[end] ?? ''); found; found = QUOTE.exec(lines[end] ?? '')) {
    inner.push(found[1] ?? '')
    end += 1
  }
  return end === at ? undefined : { block: { kind: 'quote', children: parseLines(inner, depth + 1) }, end }
}

function readTable(lines: readonly string[], at: number): Read | undefined {
  const head = splitRow(lines[at] ?? '')
  const delimiters = splitRow(lines[at + 1] ?? '')
  if (!(lines[at] ?? '').includes('|') || head.length !== delimiters.length) return undefined
  if (!delimiters.every((cell) => DELIMITER_CELL.test(cell))) return undefined
  const aligns = delimiters.map(alignOf)
  const toCells = (row: readonly string[]): TableCell[] =>
    aligns.map((align, index) => ({ align, children: parseInline(row[index] ?? '') }))
  let end = at + 2
  const rows: TableCell[][] = []
  while (end < lines.length && (lines[end] ?? '').includes('|')) {
    rows.push(toCells(splitRow(lines[end] ?? '')))
    end += 1
  }
  return { block: { kind: 'table', head: toCells(head), rows }, end }
}

function splitRow(line: string): string[] {
  const cells: string[] = []
  let cell = ''
  const row = line.trim().replace(/^\|/, '')
  for (let at = 0; at < row.length; at += 1) {
    const char = row[at] ?? ''
    if (char === '\\' && row[at + 1] === '|') {
      cell += '|'
      at += 1
    } else if (char === '|') {
      cells.push(cell.trim())
      cell = ''
    } else cell += char
  }
  return cell.trim() === '' && cells.length > 0 ? cells : [...cells, cell.trim()]
}

function alignOf(delimiter: string): ColumnAlign {
  if (!delimiter.endsWith(':')) return 'left'
  return delimiter.startsWith(':') ? 'center' : 'right'
}

function readList(lines: readonly string[], at: number, depth: number): Read | undefined {
  const first = ITEM.exec(lines[at] ?? '')
  if (!first || depth >= MAX_DEPTH) return undefined
  const marker = first[2] ?? ''
  const items: Block[][] = []
  let end = at
  for (;;) {
    const found = ITEM.exec(lines[end] ?? '')
    if (!found || RULE.test(lines[end] ?? '') || isOrdered(found[2] ?? '') !== isOrdered(marker)) break
    const item = readItem(lines, end, found)
    items.push(parseLines(item.lines, depth + 1))
    end = item.end
    const next = skipBlank(lines, end)
    if (!ITEM.test(lines[next] ?? '')) break
    end = next
  }
  const start = isOrdered(marker) ? Number.parseInt(marker, 10) : null
  return items.length === 0 ? undefined : { block: { kind: 'list', start, items }, end }
}

/** The lines of an item without their indentation: those that are indented under its text, and lazy continuations. */
function readItem(lines: readonly string[], at: number, found: RegExpExecArray) {
  const [, indent = '', marker = '', space = '', text = ''] = found
  const width = indent.length + marker.length + Math.min(Math.max(space.length, 1), 4)
  const own = [text]
  let end = at + 1
  while (end < lines.length) {
    const line = lines[end] ?? ''
    const isIndented = line.startsWith(' '.repeat(Math.min(width, 2)))
    if (line.trim() === '') {
      const next = lines[skipBlank(lines, end)] ?? ''
      if (!next.startsWith(' '.repeat(width))) break
      own.push('')
    } else if (isIndented) own.push(line.slice(Math.min(width, indentOf(line))))
    else if (ITEM.test(line) || HEADING.test(line) || FENCE.test(line) || own.at(-1) === '') break
    else own.push(line)
    end += 1
  }
  return { lines: own, end }
}

function skipBlank(lines: readonly string[], at: number): number {
  let next = at
  while (next < lines.length && (lines[next] ?? '').trim() === '') next += 1
  return next
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

function isOrdered(marker: string): boolean {
  return /^\d/.test(marker)
}

function joinLines(lines: readonly string[]): string {
  return lines.join('\n').trimEnd()
}
