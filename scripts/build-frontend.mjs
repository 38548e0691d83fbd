// Builds the web page into frontend/dist if it is missing or older than its sources. Runs on Node 20.19 or newer.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './ensure-installed.mjs'

const frontend = join(root, 'frontend')
const dist = join(frontend, 'dist')
const stamp = join(dist, '.built-from')
/** Besides its own folder: code shared with the service, and the versions of its dependencies. */
const ALSO = [join(root, 'src', 'domain'), join(root, 'package-lock.json')]

/** Builds the web page if necessary; returns whether an up-to-date build exists. */
export function ensureFrontend() {
  const sources = hashSources()
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === sources) return true
  console.error('Building the web page …')
  if (!runBuild('warn')) return false
  writeFileSync(stamp, sources)
  return true
}

/** Always builds the web page; returns whether that succeeded. */
export function buildFrontend() {
  if (!runBuild('info')) return false
  writeFileSync(stamp, hashSources())
  return true
}

function runBuild(logLevel) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', '--config', join(frontend, 'vite.config.ts'), '--logLevel', logLevel]
  const env = { ...process.env, NODE_ENV: 'production' } // else the parts would be built as they are for developing
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2], env })
  return status === 0
}

function hashSources() {
  const hash = createHash('sha256')
  for (const path of [frontend, ...ALSO].flatMap(filesBelow)) {
    hash
      .update(`${relative(root, path)}\0`)
      .update(readFileSync(path))
      .update('\0')
  }
  return hash.digest('hex')
}

function filesBelow(path) {
  if (path === dist) return []
  const entries = readdirIfFolder(path)
  if (entries === undefined) return [path]
  return entries.sort().flatMap((name) => filesBelow(join(path, name)))
}

function readdirIfFolder(path) {
  try {
    return readdirSync(path)
  } catch (error) {
    if (error.code === 'ENOTDIR') return undefined
    throw error
  }
}
