// `npm run build:binary`: builds the web page and one executable with everything inside, dist/lockhouse.
// `-- --out FILE` writes it elsewhere.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureFrontend } from './build-frontend.mjs'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'

ensureInstalled()
if (!ensureFrontend()) process.exit(1)
const build = join(root, 'scripts', 'binary', 'build.ts')
const { status } = spawnSync(runtimePath('bun'), [build, ...process.argv.slice(2)], { stdio: 'inherit' })
process.exit(status ?? 1)
