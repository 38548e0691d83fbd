// `npm start`: installs what is missing, builds the web page if necessary, then runs the service under Bun, with a demo
// lakehouse on the very first start.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureFrontend } from './build-frontend.mjs'
import { ensureInstalled, root, runtimePath } from './ensure-installed.mjs'

ensureInstalled()
// If a folder is configured, it is already built or no page is wanted.
if (process.env.FRONTEND_DIR === undefined && !ensureFrontend()) {
  console.error(
    'The web page could not be built; see the output above. The service starts with a minimal page instead.',
  )
}
const service = spawn(runtimePath('bun'), [join(root, 'src', 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { LOCKHOUSE_DEMO: '1', ...process.env },
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => service.kill(signal))
service.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
