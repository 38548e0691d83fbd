import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** How a process that runs SQL of users is started. */
export interface WorkerCommand {
  /** Absolute path of the program. */
  readonly file: string
  readonly args: readonly string[]
}

/** Deno runs a script without rights, unless it is told. */
const RUNTIME_ARGS = 'Deno' in globalThis ? ['run', '--quiet', '--allow-all'] : []

/** Starts the worker's script with the runtime of this process. */
export function scriptWorker(runtimeArgs: readonly string[] = []): WorkerCommand {
  // `.ts` in a checkout, `.js` in the package
  const script = new URL(`main${extname(import.meta.url)}`, import.meta.url)
  return { file: process.execPath, args: [...RUNTIME_ARGS, ...runtimeArgs, fileURLToPath(script)] }
}
