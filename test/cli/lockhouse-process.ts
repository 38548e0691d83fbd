import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ADMIN_TOKEN } from '../support/service.ts'
import { cleanEnvironment } from '../support/clean-environment.ts'

/** The command line that runs `lockhouse` with the runtime of this process. */
export const LOCKHOUSE: readonly string[] = [
  process.execPath,
  ...('Bun' in globalThis ? [] : ['--disable-warning=ExperimentalWarning']),
  join(import.meta.dirname, '../../src/cli/main.ts'),
]

export interface Ran {
  readonly code: unknown
  readonly out: string
  readonly err: string
}

export interface LockhouseOptions {
  readonly cwd: string
  /** `127.0.0.1:<port>` */
  readonly host: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** A shell script that runs the command as `"$@"`; default: no shell. */
  readonly shell?: string
}

/** A process `lockhouse` with a token of a lead for the service at `host`. */
export function startLockhouse(args: readonly string[], { cwd, host, env, shell }: LockhouseOptions) {
  const command = [...LOCKHOUSE, ...args]
  const [file = '', ...rest] = shell === undefined ? command : ['sh', '-c', shell, 'sh', ...command]
  return spawn(file, rest, {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...cleanEnvironment, LOCKHOUSE_SERVER: `http://${host}`, LOCKHOUSE_TOKEN: ADMIN_TOKEN, ...env },
  })
}

/** Runs `lockhouse` to its end. */
export async function runLockhouse(args: readonly string[], options: LockhouseOptions): Promise<Ran> {
  const child = startLockhouse(args, options)
  child.stdin.on('error', () => undefined) // most commands do not read it
  child.stdin.end(options.stdin ?? '')
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, out, err }
}
