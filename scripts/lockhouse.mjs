// `npm run --silent lockhouse -- COMMAND`: the command `lockhouse` from a checkout.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'

ensureInstalled()
const main = join(root, 'src', 'cli', 'main.ts')
const { status } = spawnSync(runtimePath('bun'), [main, ...process.argv.slice(2)], { stdio: 'inherit' })
process.exit(status ?? 1)
