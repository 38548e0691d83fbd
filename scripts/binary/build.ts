// `npm run build:binary`: one executable with the service, the web page and DuckDB. Runs on Bun; see docs/adr/0013.
// `--out FILE`; for another platform also `--target bun-…` and `--native`, the folder of its DuckDB package.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import type { BunPlugin } from 'bun'
import { contentHash } from '../../src/cli/binary/native-library.ts'

const root = join(import.meta.dirname, '..', '..')
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(root, 'dist', 'lockhouse') },
    target: { type: 'string' },
    native: {
      type: 'string',
      default: join(root, 'node_modules', '@duckdb', `node-bindings-${process.platform}-${process.arch}`),
    },
  },
})

/** Files that the executable contains, with the name by which code finds each. */
function embedded(): string {
  const lines: string[] = []
  const importOf = (path: string): string => {
    lines.push(`import f${lines.length} from ${JSON.stringify(`file:${path}`)}`)
    return `f${lines.length - 1}`
  }
  const dist = join(root, 'frontend', 'dist')
  const pages = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name)
      const url = `/${relative(dist, path).replaceAll('\\', '/')}`
      return `${JSON.stringify(url)}: { path: ${importOf(path)}, etag: '${contentHash(readFileSync(path)).slice(0, 22)}' }`
    })
  const natives = readdirSync(values.native)
    .filter((name) => /\.(node|so|dylib|dll)$/.test(name))
    .map((name) => {
      const path = join(values.native, name)
      const content = readFileSync(path)
      return `{ name: '${name}', path: ${importOf(path)}, hash: '${contentHash(content)}', bytes: ${content.length} }`
    })
  if (natives.length === 0) throw new Error(`no native library in ${values.native}`)
  return `${lines.join('\n')}\nexport const page = { ${pages.join(',\n')} }\nexport const native = [${natives.join(', ')}]\n`
}

const plugin: BunPlugin = {
  name: 'one executable',
  setup(build) {
    build.onResolve({ filter: /^embedded:files$/ }, () => ({ path: 'files', namespace: 'embedded' }))
    build.onLoad({ filter: /.*/, namespace: 'embedded' }, () => ({ contents: embedded(), loader: 'js' }))
    // Any ending: Bun would load a `.node` file itself, from a folder without the library that it needs.
    build.onResolve({ filter: /^file:/ }, ({ path }) => ({ path: path.slice('file:'.length), namespace: 'bytes' }))
    build.onLoad({ filter: /.*/, namespace: 'bytes' }, ({ path }) => ({ contents: readFileSync(path), loader: 'file' }))
    build.onResolve({ filter: /^@duckdb\/node-bindings$/ }, () => ({
      path: join(root, 'src/cli/binary/duckdb-bindings.ts'),
    }))
  },
}

mkdirSync(dirname(values.out), { recursive: true })
const result = await Bun.build({
  entrypoints: [join(root, 'src/cli/binary/main.ts')],
  target: 'bun',
  format: 'esm',
  minify: true,
  bytecode: true,
  external: ['pg-native'],
  compile: { outfile: values.out, ...(values.target === undefined ? {} : { target: values.target as never }) },
  plugins: [plugin],
})
for (const log of result.logs) console.error(String(log))
if (!result.success) process.exit(1)
console.log(`${basename(values.out)}: ${(Bun.file(values.out).size / 1e6).toFixed(1)} MB`)
