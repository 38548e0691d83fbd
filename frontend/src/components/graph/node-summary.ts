import { graphStrings as words } from '../../strings/everywhere/graph.ts'
import type { Node } from './graph.ts'

const MAX_LENGTH = 80

/** One line about a node from its config: its table, condition, query or columns. */
export function summaryOf({ config }: Node): string {
  const text = firstText(config)
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line
}

/** How a table is read or written, if not by appends: `changes`, `mirror by id`. */
export function modeOf({ config: { read, write, key } }: Node): string {
  const by = Array.isArray(key) && key.length > 0 ? key.filter((name) => typeof name === 'string').join(', ') : ''
  if (typeof write === 'string' && write !== 'append') return by === '' ? write : words.by(write, by)
  return typeof read === 'string' && read !== 'appends' ? read : ''
}

function firstText(config: Node['config']): string {
  for (const value of Object.values(config)) {
    if (typeof value === 'string') return value
    if (Array.isArray(value)) return value.map(nameOf).filter(Boolean).join(', ')
  }
  return ''
}

function nameOf(item: unknown): string {
  if (typeof item === 'string') return item
  if (typeof item !== 'object' || item === null || !('name' in item)) return ''
  return typeof item.name === 'string' ? item.name : ''
}

/** A value of a config as text: names without quotes, other values as JSON. */
export function configText(value: unknown): string {
  if (typeof value === 'string') return value
  const areNames = Array.isArray(value) && value.every((item) => typeof item === 'string')
  return areNames ? value.join(', ') : JSON.stringify(value, null, 2)
}
