import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../support/network/free-port.ts'
import { until } from '../../support/waiting.ts'
import { OutputTail } from './child-output.ts'

/** The folder of `prometheus` and `promtool`, or undefined; `scripts/setup/prometheus.sh` prints it. */
const FOLDER = process.env['LOCKHOUSE_PROMETHEUS']

/** Whether Prometheus can run here; logs when it cannot, because a silent skip looks like a pass. */
export function prometheusAvailable(suite: string): boolean {
  if (FOLDER) return true
  process.stderr.write(
    `\nSKIPPED: ${suite}: LOCKHOUSE_PROMETHEUS is not set; run eval "$(scripts/setup/prometheus.sh)" first\n`,
  )
  return false
}

/** Runs promtool with this input; returns what it printed. Throws with its complaints. */
export async function promtool(args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)(join(FOLDER ?? '', 'promtool'), args)
  running.child.stdin?.end(input)
  const { stdout, stderr } = await running
  return stdout + stderr
}

/** One series of the result of a query. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

/** An alert rule; `health` is `unknown` before its first evaluation. */
interface Rule {
  readonly query: string
  readonly health: string
  readonly state: string
}

/** A real Prometheus on loopback. */
export interface Prometheus {
  /** Evaluates a query now; throws when it is not valid. */
  query(expression: string): Promise<readonly Series[]>
  /** The alert rules, and how their last evaluation went. */
  rules(): Promise<readonly Rule[]>
  stop(): Promise<void>
}

/** Starts Prometheus with this configuration, its data in `folder`, and waits until it is ready. */
export async function startPrometheus(configuration: string, folder: string): Promise<Prometheus> {
  const port = await freePort()
  const child = spawn(
    join(FOLDER ?? '', 'prometheus'),
    [
      `--config.file=${configuration}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder },
  )
  const tail = new OutputTail(child.stdout, child.stderr)
  const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`)
  const isReady = (): Promise<boolean> =>
    get('/-/ready').then(
      ({ ok }) => ok,
      () => false,
    )
  await until(isReady, () => `a ready Prometheus:\n${tail.text}`)
  return {
    async rules() {
      const answer: { data: { groups: { rules: Rule[] }[] } } = JSON.parse(await (await get('/api/v1/rules')).text())
      return answer.data.groups.flatMap(({ rules }) => rules)
    },
    async query(expression) {
      const answer = await get(`/api/v1/query?query=${encodeURIComponent(expression)}`)
      const { error, data }: { error?: string; data: { result: Series[] } } = JSON.parse(await answer.text())
      if (error !== undefined) throw new Error(`${expression}: ${error}`)
      return data.result
    },
    stop: () => stop(child),
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
