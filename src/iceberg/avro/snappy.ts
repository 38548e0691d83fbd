/**
 * Decompresses one raw Snappy block (google/snappy, format_description.txt).
 * Returns undefined when the data is damaged or would be longer than `maxLength`; never reads or writes outside.
 */
export function uncompressSnappy(input: Uint8Array, maxLength: number): Uint8Array | undefined {
  const header = readLength(input)
  if (header === undefined || header.length > maxLength) return undefined
  const output = new Uint8Array(header.length)
  let from = header.next
  let to = 0
  while (from < input.length) {
    const element = readElement(input, from)
    from = element.next
    const source = element.offset === undefined ? from : to - element.offset
    if (element.length > output.length - to || source < 0 || element.offset === 0) return undefined
    if (element.offset === undefined) {
      if (element.length > input.length - from) return undefined
      output.set(input.subarray(from, from + element.length), to)
      from += element.length
    } else {
      copyWithin(output, { source, to, length: element.length })
    }
    to += element.length
  }
  return to === output.length ? output : undefined
}

interface SnappyElement {
  /** Position after the tag and its operands. */
  readonly next: number
  /** Bytes added to the output. */
  readonly length: number
  /** Distance back in the output; undefined for a literal. */
  readonly offset?: number
}

function readElement(input: Uint8Array, at: number): SnappyElement {
  const tag = input[at] ?? 0
  const upper = tag >>> 2
  switch (tag & 3) {
    case 0: {
      const extra = upper < 60 ? 0 : upper - 59
      return { next: at + 1 + extra, length: 1 + (extra === 0 ? upper : littleEndian(input, at + 1, extra)) }
    }
    case 1:
      return { next: at + 2, length: (upper & 7) + 4, offset: (tag >>> 5) * 256 + (input[at + 1] ?? 0) }
    case 2:
      return { next: at + 3, length: upper + 1, offset: littleEndian(input, at + 1, 2) }
    default:
      return { next: at + 5, length: upper + 1, offset: littleEndian(input, at + 1, 4) }
  }
}

/** Copies forward byte by byte where source and target overlap, which is how Snappy repeats patterns. */
function copyWithin(output: Uint8Array, { source, to, length }: { source: number; to: number; length: number }): void {
  if (source + length <= to) {
    output.copyWithin(to, source, source + length)
  } else {
    for (let n = 0; n < length; n++) output[to + n] = output[source + n] ?? 0
  }
}

function readLength(input: Uint8Array): { length: number; next: number } | undefined {
  let length = 0
  for (let next = 0; next < 5; next++) {
    const byte = input[next]
    if (byte === undefined) return undefined
    length += (byte & 127) * 2 ** (7 * next)
    if (byte < 128) return { length, next: next + 1 }
  }
  return undefined
}

function littleEndian(input: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let n = 0; n < count; n++) value += (input[at + n] ?? 0) * 256 ** n
  return value
}
