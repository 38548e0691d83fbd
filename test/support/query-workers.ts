import { readdirSync, readFileSync } from 'node:fs'
import { every } from './waiting.ts'

/** Whether the processes that run SQL of users can be watched here. */
export const CAN_WATCH_WORKERS = process.platform === 'linux'

/** A process that runs SQL of users. */
export interface QueryWorker {
  readonly pid: number
  readonly residentBytes: number
  /** The most that it had so far. */
  readonly peakBytes: number
}

/** The children of a process that run SQL of users; `marker`: only those with it on their command line. */
export function workersOf(parent: number, marker = ''): readonly QueryWorker[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const status = readProc(`${name}/status`)
      if (!status.includes(`\nPPid:\t${parent}\n`) || /^State:\tZ/m.test(status)) return []
      const command = readProc(`${name}/cmdline`)
      if (!command.includes('duckdb/worker/main.ts') || !command.includes(marker)) return []
      const bytes = (field: string): number =>
        Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024
      return [{ pid: Number(name), residentBytes: bytes('VmRSS'), peakBytes: bytes('VmHWM') }]
    })
}

/** Text of a file below `/proc`; empty when its process is gone. */
export function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}

/** Whether a process is there and no zombie. */
export function isAlive(pid: number): boolean {
  return /^State:\t[^Z]/m.test(readProc(`${pid}/status`))
}

/** Looks at the workers of a process again and again. */
export class WorkerWatch {
  /** Ends the looking. */
  readonly stop: () => void
  /** The most that one worker had, and all of them together. */
  largest = 0
  together = 0

  constructor(parent: number, everyMs = 10) {
    this.stop = every(everyMs, () => {
      const workers = workersOf(parent)
      const sizes = workers.map(({ residentBytes }) => residentBytes)
      this.largest = Math.max(this.largest, ...workers.map(({ peakBytes }) => peakBytes))
      this.together = Math.max(
        this.together,
        sizes.reduce((sum, size) => sum + size, 0),
      )
    })
  }
}
