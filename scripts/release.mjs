// `npm run release`: one executable per platform in dist/release/, and SHA256SUMS. What is for other platforms is compiled
// here but cannot be run here; the output says so.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureFrontend } from './build-frontend.mjs'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'

/** Each platform with Bun's name for it; DuckDB's package has the name of the platform. */
const PLATFORMS = {
  'linux-x64': 'bun-linux-x64',
  'linux-arm64': 'bun-linux-arm64',
  'darwin-arm64': 'bun-darwin-arm64',
  'darwin-x64': 'bun-darwin-x64',
}
const here = `${process.platform}-${process.arch}`

ensureInstalled()
if (!ensureFrontend()) process.exit(1)
const wanted = process.argv.slice(2)
for (const name of wanted) {
  if (!(name in PLATFORMS)) fail(`unknown platform ${name}: choose from ${Object.keys(PLATFORMS).join(', ')}`)
}
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
const target = join(root, 'dist', 'release')
rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
const built = (wanted.length > 0 ? wanted : Object.keys(PLATFORMS)).filter(build)
const sums = built.map((name) => `${sha256(join(target, fileName(name)))}  ${fileName(name)}\n`)
writeFileSync(join(target, 'SHA256SUMS'), sums.join(''))
console.log(`\n${sums.join('')}`)
for (const name of built) console.log(`${fileName(name)}: ${name === here ? verdict(name) : 'built, not run here'}`)
process.exit(built.length === 0 ? 1 : 0)

function build(name) {
  const folder = mkdtempSync(join(tmpdir(), 'lockhouse-release-'))
  try {
    const args = ['--out', join(target, fileName(name)), '--native', nativeFolder(name, folder)]
    if (name !== here) args.push('--target', PLATFORMS[name])
    const { status } = spawnSync(runtimePath('bun'), [join(root, 'scripts', 'binary', 'build.ts'), ...args], {
      stdio: 'inherit',
      cwd: folder,
    })
    if (status !== 0) throw new Error(`the compiler ended with ${status}`)
    return true
  } catch (error) {
    console.error(`${name}: not built: ${error.message.split('\n', 1)[0]}`)
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** DuckDB's package for a platform: the installed one, or from npm, compared with the lockfile. */
function nativeFolder(name, folder) {
  const id = `@duckdb/node-bindings-${name}`
  const installed = join(root, 'node_modules', id)
  if (existsSync(join(installed, 'duckdb.node'))) return installed
  const { version: wantedVersion, integrity } = lock[`node_modules/${id}`]
  const packed = spawnSync('npm', ['pack', `${id}@${wantedVersion}`, '--json', '--loglevel=error'], { cwd: folder })
  if (packed.status !== 0) throw new Error(`npm does not find ${id}@${wantedVersion}`)
  const [{ filename }] = JSON.parse(packed.stdout.toString())
  const archive = readFileSync(join(folder, filename))
  const found = `sha512-${createHash('sha512').update(archive).digest('base64')}`
  if (found !== integrity) throw new Error(`${id} is not what the lockfile names`)
  execFileSync('tar', ['-xzf', filename], { cwd: folder })
  return join(folder, 'package')
}

function fileName(name) {
  return `lockhouse-${version}-${name}`
}

/** Starts the executable of this platform. */
function verdict(name) {
  const { stdout } = spawnSync(join(target, fileName(name)), ['version'], { encoding: 'utf8' })
  if (stdout.trim() !== version) fail(`${fileName(name)} does not start`)
  return 'built and started'
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function fail(problem) {
  console.error(problem)
  process.exit(1)
}
