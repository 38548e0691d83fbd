// `npm run spark-protos`: generates src/engines/spark/connect/generated from the .proto files beside it. With --check it only
// compares, as `npm run check` does.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ensureInstalled, root } from './ensure-installed.mjs'

ensureInstalled()
const folder = join(root, 'src', 'engines', 'spark', 'connect')
const bin = join(root, 'node_modules', '.bin')
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }

if (process.argv.includes('--check')) check()
else generate(join(folder, 'generated'))

function generate(target) {
  const plugin = { local: 'protoc-gen-es', out: target, opt: ['target=ts', 'import_extension=ts'] }
  const template = JSON.stringify({ version: 'v2', clean: true, plugins: [plugin] })
  const { status } = spawnSync(join(bin, 'buf'), ['generate', '--template', template], {
    cwd: join(folder, 'protos'),
    env,
    stdio: 'inherit',
  })
  if (status !== 0) process.exit(status ?? 1)
}

function check() {
  const fresh = mkdtempSync(join(tmpdir(), 'spark-protos-'))
  try {
    generate(fresh)
    if (textsOf(fresh) === textsOf(join(folder, 'generated'))) return
    console.error('src/engines/spark/connect/generated is out of date: run `npm run spark-protos`')
    process.exitCode = 1
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function textsOf(path) {
  return readdirSync(path)
    .sort()
    .map((name) => `${name}\n${readFileSync(join(path, name), 'utf8')}`)
    .join('\n')
}
