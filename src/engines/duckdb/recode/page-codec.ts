import * as zlib from 'node:zlib'

/** Compresses and decompresses pages on the threads of the runtime. */
export interface PageCodec {
  readonly compress: (page: Uint8Array) => Promise<Uint8Array>
  /** Rejects for bytes that are damaged, or that give more than `length` bytes. */
  readonly decompress: (page: Uint8Array, length: number) => Promise<Uint8Array>
}

const GZIP = 2
const BROTLI = 4
const ZSTD = 6
const BROTLI_QUALITY = 4

/**
 * The codec with a number of parquet.thrift; undefined for those that the runtime does not have: Snappy, LZ4, and Zstandard before
 * Node 22.15.
 */
export function pageCodec(number: number, level: number): PageCodec | undefined {
  if (number === 0) return { compress: async (page) => page, decompress: async (page) => page }
  if (number === GZIP) {
    return {
      compress: (page) => finished((done) => zlib.gzip(page, done)),
      decompress: (page, length) => finished((done) => zlib.gunzip(page, limit(length), done)),
    }
  }
  if (number === BROTLI) {
    const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
    return {
      compress: (page) => finished((done) => zlib.brotliCompress(page, { params }, done)),
      decompress: (page, length) => finished((done) => zlib.brotliDecompress(page, limit(length), done)),
    }
  }
  if (number !== ZSTD || typeof zlib.zstdCompress !== 'function') return undefined
  const params = { [zlib.constants.ZSTD_c_compressionLevel]: level }
  return {
    compress: (page) => finished((done) => zlib.zstdCompress(page, { params }, done)),
    decompress: (page, length) => finished((done) => zlib.zstdDecompress(page, limit(length), done)),
  }
}

type Done = (error: Error | null, result: Uint8Array) => void

function finished(start: (done: Done) => void): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    start((error, result) => {
      if (error === null) resolve(result)
      else reject(error)
    })
  })
}

/** Empty pages have a limit of one byte, because zlib refuses zero. */
function limit(maxOutputLength: number) {
  return { maxOutputLength: Math.max(1, maxOutputLength) }
}
