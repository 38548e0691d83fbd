import { SparkError } from '../spark-error.ts'

/**
 * An identifier as Spark's parser reads it back: each part in backticks, backticks in it doubled.
 * A part that is empty or not valid Unicode is refused with `INVALID_ARGUMENT`.
 */
export function quoteSparkName(parts: readonly string[]): string {
  if (parts.length === 0) throw new SparkError('INVALID_ARGUMENT', 'a name in Spark needs at least one part')
  return parts.map(quotePart).join('.')
}

function quotePart(part: string): string {
  if (part === '' || !part.isWellFormed()) {
    throw new SparkError('INVALID_ARGUMENT', `${JSON.stringify(part)} cannot be a part of a name in Spark`)
  }
  return `\`${part.replaceAll('`', '``')}\``
}
