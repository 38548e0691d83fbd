import type { Node } from './graph.ts'

const MAX_LENGTH = 80

/** One line about a node from its config: its table, condition, query or columns. */
export function summaryOf({ config }: Node): string {
  const text = firstText(config)
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line
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
