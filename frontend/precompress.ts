import { readdir, readFile, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

const COMPRESSIBLE: ReadonlySet<string> = new Set(['.css', '.html', '.js', '.json', '.svg'])
/** Below this a compressed answer is no shorter once its headers are counted. */
const MIN_BYTES = 1024

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/** Writes `.br` and `.gz` beside each built file, so that the service never compresses while somebody waits. */
export function precompress(): Plugin {
  let folder = ''
  return {
    name: 'lockhouse-precompress',
    apply: 'build',
    configResolved(config) {
      folder = join(config.root, config.build.outDir)
      if (config.build.outDir.startsWith('/')) folder = config.build.outDir
    },
    async closeBundle() {
      const files = await readdir(folder, { recursive: true, withFileTypes: true })
      const wanted = files.filter((file) => file.isFile() && COMPRESSIBLE.has(extname(file.name)))
      await Promise.all(wanted.map((file) => compressFile(join(file.parentPath, file.name))))
    },
  }
}

async function compressFile(path: string): Promise<void> {
  const bytes = await readFile(path)
  if (bytes.length < MIN_BYTES) return
  const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  await Promise.all([
    brotli(bytes, { params }).then((short) => writeFile(`${path}.br`, short)),
    gzipped(bytes, { level: 9 }).then((short) => writeFile(`${path}.gz`, short)),
  ])
}
