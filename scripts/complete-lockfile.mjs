// Run after a change of dependencies. Adds to package-lock.json the packages for other platforms that its packages name as
// optional but that npm left out because the registry in use does not offer them (yet). `npm ci` refuses a lockfile
// without them on every platform.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './ensure-installed.mjs'

const OS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32', 'netbsd', 'openbsd', 'sunos', 'aix']
const CPU = ['x64', 'arm64', 'arm', 'ia32', 'riscv64', 's390x', 'ppc64', 'loong64', 'mips64el']

const path = join(root, 'package-lock.json')
const lock = JSON.parse(readFileSync(path, 'utf8'))
let added = 0
for (const [location, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const platform = platformOf(name)
    if (location === '' || platform === undefined || lock.packages[`node_modules/${name}`]) continue
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
      ...platform,
    }
    added += 1
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
lock.packages = Object.fromEntries(sorted)
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${added} platform packages added`)

/** Operating system and processor of a platform package, from its name; undefined when the name has none. */
function platformOf(name) {
  const words = name.split(/[/-]/)
  const os = OS.find((candidate) => words.includes(candidate))
  const cpu = CPU.find((candidate) => words.includes(candidate))
  return os && { os: [os], ...(cpu ? { cpu: [cpu] } : {}) }
}
