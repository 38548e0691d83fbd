// `npm run bench -- <name>`: runs bench/<name>.ts under Bun.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'

ensureInstalled()
const [name, ...args] = process.argv.slice(2)
const file = join(root, 'bench', `${name}.ts`)
if (!name || !existsSync(file)) {
  const names = readdirSync(join(root, 'bench')).filter((entry) => entry.endsWith('.ts'))
  console.error(`usage: npm run bench -- <${names.map((entry) => entry.slice(0, -3)).join('|')}>`)
  process.exit(2)
}
process.exit(spawnSync(runtimePath('bun'), [file, ...args], { cwd: root, stdio: 'inherit' }).status ?? 1)
