// `npm run build:package`: compiles `src` to JavaScript with types in `lib`, and builds the web page, for `npm pack`.
import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureFrontend } from './build-frontend.mjs'
import { ensureInstalled, root } from './ensure-installed.mjs'

ensureInstalled()
rmSync(join(root, 'lib'), { recursive: true, force: true })
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, 'scripts', 'package', 'tsconfig.json')], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(1)
chmodSync(join(root, 'lib', 'cli', 'main.js'), 0o755)
process.exit(ensureFrontend() ? 0 : 1)
