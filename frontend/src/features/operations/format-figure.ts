import { formatBytes, formatCount, formatDuration } from '../../strings/everywhere/units.ts'
import type { FigureKind } from './result-figures.ts'

/** A figure with its unit. */
export function formatFigure(kind: FigureKind, value: number | string): string {
  if (typeof value === 'string') return value
  if (kind === 'bytes') return formatBytes(value)
  return kind === 'duration' ? formatDuration(value) : formatCount(value)
}
