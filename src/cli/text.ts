import { visibleText } from '../lib/visible-text.ts'

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** A size with a binary unit, such as `1.5 MiB`. */
export function sizeText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit] ?? ''}`
}

/** A duration such as `850 ms`, `12 s` or `3 min 5 s`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = Math.round(ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** Text of others on one line: hidden characters and line breaks, which could change the terminal, are escapes. */
export function plainText(text: string): string {
  return visibleText(text).replace(/[\t\n\r]/g, (character) => JSON.stringify(character).slice(1, -1))
}

/** Text of others on several lines: as {@link plainText}, but with its tabs and line breaks. */
export function plainLines(text: string): string {
  return visibleText(text).replace(/\r(?!\n)/g, String.raw`\r`)
}

/** JSON on one line, or indented, with the escapes of {@link visibleJson}. */
export function jsonText(value: unknown, indent?: number): string {
  return visibleJson(JSON.stringify(value, undefined, indent))
}

/** JSON text in which characters that could change the terminal are escapes, which mean the same in JSON. */
export function visibleJson(text: string): string {
  return text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => jsonEscape(character.charCodeAt(at))).join(''),
  )
}

function jsonEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}

/** Words such as `auto, embedded or spark`. */
export function listText(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`
}

/** A cell of a table; numbers are aligned to the right. */
export type Cell = string | number | null

/** Rows below headers, in aligned columns, cut to `width`. */
export function textTable(headers: readonly string[], rows: readonly (readonly Cell[])[], width?: number): string {
  const lines = [headers.map(plainText), ...rows.map((row) => row.map(cellText))]
  const widths = headers.map((_, at) => widest(lines.map((line) => line[at] ?? '')))
  const isNumber = headers.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] !== 'string'))
  const text = lines.map((line) => {
    const cells = line.map((cell, at) => (isNumber[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
    return cells.join('  ').trimEnd()
  })
  return text.map((line) => cut(line, width)).join('\n')
}

/** Names and values, one pair a line. */
export function textList(pairs: readonly (readonly [name: string, value: Cell])[]): string {
  const names = pairs.map(([name]) => plainText(name))
  const width = widest(names)
  return pairs.map(([, value], at) => `${(names[at] ?? '').padEnd(width)}  ${cellText(value)}`.trimEnd()).join('\n')
}

/** The length of the longest text. A spread into `Math.max` overflows the stack of Node at about 120,000 texts. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, text.length), 0)
}

function cellText(cell: Cell): string {
  if (cell === null) return '-'
  return typeof cell === 'number' ? String(cell) : plainText(cell)
}

function cut(line: string, width: number | undefined): string {
  return width === undefined || line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`
}

/** A time with its seconds, which the API needs and people leave out: `2026-01-31T14:05Z`. Other texts are as given. */
export function completeTime(text: string | undefined): string | undefined {
  return text?.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(Z|[+-]\d{2}:\d{2})$/, '$1:00$2')
}
