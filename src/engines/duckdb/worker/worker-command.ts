import { fileURLToPath } from 'node:url'

/** How a process that runs SQL of users is started. */
export interface WorkerCommand {
  /** Absolute path of the program. */
  readonly file: string
  readonly args: readonly string[]
}

/** Starts the worker's script with the runtime of this process. */
export function scriptWorker(runtimeArgs: readonly string[] = []): WorkerCommand {
  return { file: process.execPath, args: [...runtimeArgs, fileURLToPath(new URL('main.ts', import.meta.url))] }
}
