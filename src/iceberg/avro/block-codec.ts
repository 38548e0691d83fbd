import * as zlib from 'node:zlib'

import { IcebergError } from '../errors.ts'
import { uncompressSnappy } from './snappy.ts'

const SMALLEST_CHUNK = 16 * 1024
const LARGEST_CHUNK = 1024 * 1024

/** Decompresses one block; `maxLength` bounds the result in bytes. */
export type Decompress = (block: Uint8Array, maxLength: number) => Uint8Array

/**
 * The decompressor for an `avro.codec` header value: `null`, `deflate`, `snappy` (with its CRC) or `zstandard`.
 * Throws `CORRUPT_FILE` for every other name, and `UNSUPPORTED` for Zstandard on runtimes that lack it.
 * The decompressor throws `CORRUPT_FILE` on damaged or oversized data.
 */
export function decompressorFor(codec: string, label: string): Decompress {
  switch (codec) {
    case 'null':
      return (block) => block
    case 'deflate':
      return guarded(label, inflater())
    case 'snappy':
      return guarded(label, readSnappyBlock)
    case 'zstandard':
      return guarded(label, zstdDecompressor(label))
    default: {
      const known = 'null, deflate, snappy and zstandard can be read'
      throw new IcebergError('CORRUPT_FILE', `The ${label} has the unknown codec "${codec.slice(0, 40)}": ${known}.`)
    }
  }
}

/** Compresses a block with `deflate`. On manifests, level 6 gives the same size as level 9 in less time. */
export function deflateBlock(block: Uint8Array): Uint8Array {
  return zlib.deflateRawSync(block, { level: 6 })
}

function guarded(label: string, decompress: Decompress): Decompress {
  return (block, maxLength) => {
    try {
      return decompress(block, maxLength)
    } catch (cause) {
      const limit = `a block cannot be decompressed, or is larger than ${maxLength} bytes`
      throw new IcebergError('CORRUPT_FILE', `The ${label} is damaged: ${limit}.`, { cause })
    }
  }
}

/** Blocks of a file have similar sizes: an output buffer of the last block's size avoids joining small pieces. */
function inflater(): Decompress {
  let chunkSize = SMALLEST_CHUNK
  return (block, maxLength) => {
    const content = zlib.inflateRawSync(block, { maxOutputLength: maxLength, chunkSize })
    chunkSize = Math.min(Math.max(content.length + 1024, SMALLEST_CHUNK), LARGEST_CHUNK)
    return content
  }
}

function readSnappyBlock(block: Uint8Array, maxLength: number): Uint8Array {
  const split = block.length - 4
  const content = split < 0 ? undefined : uncompressSnappy(block.subarray(0, split), maxLength)
  if (content === undefined) throw new Error('not a Snappy block')
  const view = new DataView(block.buffer, block.byteOffset + split, 4)
  if (view.getUint32(0) !== zlib.crc32(content)) throw new Error('the CRC of a Snappy block is wrong')
  return content
}

function zstdDecompressor(label: string): Decompress {
  // Looked up at run time: a runtime without Zstandard can still read everything else.
  const { zstdDecompressSync } = zlib
  if (typeof zstdDecompressSync !== 'function') {
    const advice = 'use Bun, or Node 22.15 or newer'
    throw new IcebergError('UNSUPPORTED', `The ${label} is compressed with Zstandard: ${advice}.`)
  }
  return (block, maxLength) => zstdDecompressSync(block, { maxOutputLength: maxLength })
}
