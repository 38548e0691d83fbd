import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { HouseAnswer, HouseRequest } from '../../notebook-proxy/service-in-process.ts'
import { REPOSITORY } from './environment.ts'

export const RUNTIMES = ['bun', 'node'] as const

export type RuntimeName = (typeof RUNTIMES)[number]

/** Python with a Jupyter server, or undefined; `scripts/setup/jupyter.sh` prints it. */
export const JUPYTER = existing(process.env['LOCKHOUSE_JUPYTER'])

/** A browser, or undefined. */
export const CHROMIUM = existing(process.env['LOCKHOUSE_CHROMIUM']) ?? inPath('chromium')

/** Whether a Jupyter server can run here; logs when it cannot, because a silent skip looks like a pass. */
export function jupyterAvailable(suite: string): boolean {
  if (JUPYTER) return true
  skipLoudly(suite, 'LOCKHOUSE_JUPYTER is not set; run eval "$(scripts/setup/jupyter.sh)" first')
  return false
}

/** Whether a browser can run here; logs when it cannot. */
export function chromiumAvailable(suite: string): boolean {
  if (CHROMIUM) return true
  skipLoudly(suite, 'LOCKHOUSE_CHROMIUM is not set, and there is no chromium in PATH')
  return false
}

function skipLoudly(suite: string, why: string): void {
  process.stderr.write(`\nSKIPPED: ${suite}: ${why}\n`)
}

function existing(path: string | undefined): string | undefined {
  return path && existsSync(path) ? path : undefined
}

function inPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':')
  return folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path))
}

export interface HouseReport {
  /** Lines of the log since the previous report. */
  readonly log: readonly string[]
}

/** The service with its proxy, in a separate process, on the requested runtime. */
export class NotebookHouse {
  readonly answer: HouseAnswer
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: Interface

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>, lines: Interface, answer: HouseAnswer) {
    this.#child = child
    this.#lines = lines
    this.answer = answer
  }

  static async start(runtime: RuntimeName, request: HouseRequest): Promise<NotebookHouse> {
    const script = `${REPOSITORY}/test/notebook-proxy/service-in-process.ts`
    const child = spawn(`${REPOSITORY}/node_modules/.bin/${runtime}`, [script, JSON.stringify(request)], {
      cwd: REPOSITORY,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })
    const first = once(lines, 'line').then(([line]) => line as string)
    const ended = once(child, 'exit').then(() => undefined)
    const line = await Promise.race([first, ended])
    if (line === undefined) throw new Error(`the service on ${runtime} ended at start`)
    return new NotebookHouse(child, lines, JSON.parse(line))
  }

  get origin(): string {
    return `http://127.0.0.1:${this.answer.port}`
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  async report(): Promise<HouseReport> {
    const line = once(this.#lines, 'line')
    this.#child.stdin.write('report\n')
    return JSON.parse((await line)[0])
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.stdin.end()
    await exited
  }
}
