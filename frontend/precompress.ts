import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { extname, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin, Rolldown } from 'vite'

const COMPRESSIBLE: ReadonlySet<string> = new Set(['.css', '.html', '.js', '.json', '.svg'])
/** Below this a compressed answer is no shorter once its headers are counted. */
const MIN_BYTES = 1024

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/**
 * Writes `.br` and `.gz` beside each built file, so that the service never compresses while somebody waits, and says how
 * much compressed script the page loads before it shows anything: the entry and all that it imports at once.
 */
export function precompress(): Plugin {
  let folder = ''
  let firstLoad: readonly string[] = []
  return {
    name: 'lockhouse-precompress',
    apply: 'build',
    configResolved({ root, build: { outDir } }) {
      folder = isAbsolute(outDir) ? outDir : join(root, outDir)
    },
    generateBundle(_options, bundle) {
      firstLoad = firstLoadOf(bundle)
    },
    async writeBundle() {
      const files = await readdir(folder, { recursive: true, withFileTypes: true })
      const wanted = files.filter((file) => file.isFile() && COMPRESSIBLE.has(extname(file.name)))
      await Promise.all(wanted.map((file) => compressFile(join(file.parentPath, file.name))))
      const sizes = await Promise.all(firstLoad.map((name) => compressedSize(join(folder, name))))
      const total = sizes.reduce((sum, size) => sum + size, 0)
      this.info(`first load: ${(total / 1000).toFixed(1)} kB of script, compressed, in ${sizes.length} files`)
    },
  }
}

function firstLoadOf(bundle: Rolldown.OutputBundle): readonly string[] {
  const waiting = Object.values(bundle).flatMap((part) =>
    part.type === 'chunk' && part.isEntry ? [part.fileName] : [],
  )
  const found = new Set<string>()
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const part = bundle[name]
    if (found.has(name) || part?.type !== 'chunk') continue
    found.add(name)
    waiting.push(...part.imports)
  }
  return [...found]
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

async function compressedSize(path: string): Promise<number> {
  const found = await stat(`${path}.br`).catch(() => stat(path))
  return found.size
}
