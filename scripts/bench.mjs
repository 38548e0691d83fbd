// `npm run bench -- <name>`: runs bench/<name>.ts under Bun.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'

ensureInstalled()
const [name, ...args] = process.argv.slice(2)
const file = join(root, 'bench', `${name}.ts`)
if (!name || !existsSync(file)) {
  console.error('usage: npm run bench -- <compaction|health|expire|start>')
  process.exit(2)
}
process.exit(spawnSync(runtimePath('bun'), [file, ...args], { cwd: root, stdio: 'inherit' }).status ?? 1)
