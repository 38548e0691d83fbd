import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../ensure-installed.mjs'

/**
 * The PostgreSQL of the tests: the one that LOCKHOUSE_TEST_POSTGRES names, or else a private one on a loopback port, if
 * this machine has the server installed. Returns its environment, what stops it, a note for the summary, and whether
 * there is one.
 */
export function startPostgres() {
  if (process.env.LOCKHOUSE_TEST_POSTGRES) return { env: {}, stop() {}, note: undefined, isThere: true }
  const script = join(root, 'scripts', 'setup', 'postgres.sh')
  // Variables of PostgreSQL's own tools (PGHOST, PGDATA, …) must not select another server.
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))
  const { status, stdout, stderr, error } = spawnSync('bash', [script, '--no-install'], {
    env: Object.fromEntries(clean),
    encoding: 'utf8',
  })
  if (status !== 0) {
    const reason = error?.message ?? stderr.trim().split('\n').at(-1)
    const note = `Skipped: tests on PostgreSQL (${reason}): install one, or eval "$(bash scripts/setup/postgres.sh)"`
    return { env: {}, stop() {}, note, isThere: false }
  }
  const env = readEnvironment(stdout)
  const stop = () => void spawnSync('bash', ['-c', env.LOCKHOUSE_TEST_POSTGRES_STOP], { stdio: 'ignore' })
  return {
    env,
    stop,
    note: 'PostgreSQL: a private server was started for this run and stopped afterwards',
    isThere: true,
  }
}

/** The variables that the lines of a setup script export; bash undoes its own quoting. */
function readEnvironment(lines) {
  const names = [...lines.matchAll(/^export (\w+)=/gm)].map(([, name]) => name)
  const print = names.map((name) => `printf '%s\\0' "$${name}"`).join('\n')
  const values = spawnSync('bash', ['-c', `${lines}\n${print}`], { encoding: 'utf8' }).stdout.split('\0')
  return Object.fromEntries(names.map((name, at) => [name, values[at]]))
}
