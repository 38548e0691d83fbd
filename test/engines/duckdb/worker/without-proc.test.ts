import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const REPOSITORY = join(import.meta.dirname, '../../../..')
/** Bun ends at its start without `/proc`, before it runs any code (docs/runtimes.md#differences); Node runs the same worker. */
const NODE = 'Bun' in globalThis ? join(REPOSITORY, 'node_modules/.bin/node') : process.execPath
const HIDE_PROC = 'mount -t tmpfs tmpfs /proc && exec "$@"'
const OWN_MOUNTS = process.getuid?.() === 0 ? ['-m'] : ['-m', '--user', '--map-root-user']

function withoutProc(...command: readonly string[]) {
  return spawnSync('unshare', [...OWN_MOUNTS, 'sh', '-c', HIDE_PROC, 'sh', ...command], { encoding: 'utf8' })
}

const canHide = withoutProc('true').status === 0 && existsSync(NODE) && !('Deno' in globalThis)
if (!canHide) process.stderr.write('\nSKIPPED: /proc cannot be hidden from a process of Node here\n')

it.skipIf(!canHide)('a process of user SQL answers a query when the system has no /proc', () => {
  const script = join(import.meta.dirname, 'query-in-process.ts')
  const { status, stdout, stderr } = withoutProc(NODE, '--disable-warning=ExperimentalWarning', script)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual({ hasProc: false, columns: ['answer'] })
})
