// `npm run check`: types, lint, formatting, unused code, layers, references and generated documents. CI runs the same.
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
  ['bun', 'scripts/checks/unused-members.ts'],
  ['bun', 'scripts/spark-protos.mjs', '--check'],
  ['bun', 'scripts/checks/check-layers.ts'],
  ['bun', 'scripts/checks/check-references.ts'],
  ['bun', 'scripts/checks/api-docs.ts', '--check'],
]
for (const [tool, ...args] of steps) {
  console.log(`# ${tool} ${args.join(' ')}`)
  const { status } = spawnSync(join(root, 'node_modules', '.bin', tool), args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
