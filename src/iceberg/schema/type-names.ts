import type { DecimalType, PrimitiveType, SimpleTypeName, Type } from './types.ts'

const simpleTypeNames: ReadonlySet<string> = new Set<SimpleTypeName>([
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'timestamptz_ns',
  'string',
  'uuid',
  'binary',
  'unknown',
  'variant',
])

/** Deeper nesting is refused: no engine writes it, and it would exhaust the stack. */
export const maxTypeDepth = 200

/** A primitive type from the text that metadata uses, or undefined when there is no such type. */
export function parsePrimitiveType(text: string): PrimitiveType | undefined {
  const lower = text.toLowerCase()
  if (simpleTypeNames.has(lower)) return { kind: lower as SimpleTypeName }
  const decimal = /^decimal\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(lower)
  if (decimal) return decimalType(Number(decimal[1]), Number(decimal[2]))
  const fixed = /^fixed\[\s*(\d{1,10})\s*\]$/.exec(lower)
  if (fixed) return Number(fixed[1]) < 2 ** 31 ? { kind: 'fixed', length: Number(fixed[1]) } : undefined
  const geo = /^(geometry|geography)\s*(\([^()]*\))?$/.exec(lower)
  if (geo) return { kind: geo[1] === 'geometry' ? 'geometry' : 'geography', text }
  return undefined
}

/** A decimal type, or undefined when precision and scale are out of range (1 to 38 digits, scale within them). */
export function decimalType(precision: number, scale: number): DecimalType | undefined {
  if (precision < 1 || precision > 38 || scale > precision) return undefined
  return { kind: 'decimal', precision, scale }
}

/** A type as text for people: `decimal(10,2)`, `struct<a: int, b: list<string>>`, `map<string, long>`. */
export function formatType(type: Type): string {
  switch (type.kind) {
    case 'struct':
      return `struct<${type.fields.map((field) => `${field.name}: ${formatType(field.type)}`).join(', ')}>`
    case 'list':
      return `list<${formatType(type.element)}>`
    case 'map':
      return `map<${formatType(type.key)}, ${formatType(type.value)}>`
    case 'decimal':
      return `decimal(${type.precision},${type.scale})`
    case 'fixed':
      return `fixed[${type.length}]`
    case 'geometry':
    case 'geography':
      return type.text
    default:
      return type.kind
  }
}
