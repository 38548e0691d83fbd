// `npm run check`: types, lint, formatting and unused code, the same words in CI.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, root } from './ensure-installed.mjs'

ensureInstalled()
const steps = [
  ['tsc', '--noEmit'],
  ['tsc', '--noEmit', '-p', 'frontend'],
  ['oxlint', '--type-aware', '--deny-warnings'],
  ['oxfmt', '--check', 'src', 'test', 'scripts', 'bench', 'frontend'],
  ['knip'],
]
for (const [tool, ...args] of steps) {
  console.log(`# ${tool} ${args.join(' ')}`)
  const { status } = spawnSync(join(root, 'node_modules', '.bin', tool), args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
