// `npm start`: installs what is missing, builds the web page if necessary, then runs the service under Bun, with a demo
// lakehouse on the very first start.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
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
// npm starts a shell, which does not pass signals on: when one of the two ends, so does the service.
const parents = () => `${process.ppid} ${parentOf(process.ppid)}`
const before = parents()
const watch = setInterval(() => {
  if (parents() === before) return
  clearInterval(watch)
  service.kill('SIGTERM')
}, 500)
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => service.kill(signal))
service.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))

/** On Linux; elsewhere undefined. */
function parentOf(pid) {
  try {
    return /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}
