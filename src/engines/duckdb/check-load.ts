import { scriptWorker, type WorkerCommand } from './worker/worker-command.ts'
import { WorkerProcess } from './worker/worker-process.ts'

/** Enough to load the library. */
const MEMORY_BYTES = 64 * 2 ** 20

/** Loads DuckDB in a process that ends right after. Throws `WorkerEnded` with its reason when that fails. */
export async function checkDuckDbLoad(signal: AbortSignal, command: WorkerCommand = scriptWorker()): Promise<void> {
  const worker = new WorkerProcess(command, MEMORY_BYTES)
  try {
    await worker.ready(signal)
  } finally {
    worker.kill()
    await worker.exited()
  }
}
