// The overhead of the agent per step, with a provider that answers immediately, compared with a bare round trip of the same
// bytes; and the effect of 100 providers that never answer on other requests. The service, the provider and the client are
// separate processes.
import { spawn, type ChildProcess } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { processCpuSeconds } from './support/process-cpu.ts'
import { median, note, printTable } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUN = `${ROOT}node_modules/.bin/bun`
const RUNTIME = process.env['BENCH_RUNTIME'] ?? BUN
const TOKEN = 'lh_bench_0123456789abcdef0123456789abcdef'
const RUNS = Number(process.env['BENCH_RUNS'] ?? 200)
const STEPS = 7
const HANGING = 100
const PROBE_MS = 5
const HANG_SECONDS = 10
const OPENING_MS = 1000

if (process.argv[2] === 'provider') serveProvider()
else await withWorkFolder('agent', bench)

async function bench(home: string): Promise<void> {
  const provider = await start([fileURLToPath(import.meta.url), 'provider'], {}, BUN)
  const service = await start(['src/main.ts'], {
    PORT: '0',
    LOCKHOUSE_HOME: home,
    LOCKHOUSE_DEMO: '1',
    LOCKHOUSE_ADMIN_TOKEN: TOKEN,
    AGENT_DAILY_TOKENS: '1000000000000',
    VLLM_BASE_URL: `http://127.0.0.1:${provider.port}/v1`,
  })
  await measureSteps(service.port, provider.port)
  await measureHanging(service)
  service.child.kill('SIGTERM')
  provider.child.kill('SIGTERM')
}

async function measureSteps(port: number, providerPort: number): Promise<void> {
  const { body } = await chat(port, { prompt: 'warm up', model: 'instant' })
  if (body.steps !== STEPS) throw new Error(`the run has ${body.steps} steps: ${JSON.stringify(body)}`)
  const bodies = (await (await fetch(`http://127.0.0.1:${providerPort}/bodies`)).json()) as string[]
  const whole: number[] = []
  const bare: number[] = []
  for (let run = -20; run < RUNS; run++) {
    const ours = await time(() => chat(port, { prompt: 'go', model: 'instant' }))
    const theirs = await time(() => askAll(providerPort, bodies))
    if (run >= 0) whole.push(ours / STEPS)
    if (run >= 0) bare.push(theirs / STEPS)
  }
  const own = whole.map((ms, at) => ms - (bare[at] ?? 0))
  printTable(
    `A run of ${STEPS} steps with ${STEPS - 1} tool calls, from the request to the stored transcript; ${RUNS} runs, times per step`,
    ['', 'median', 'p95'],
    [
      ['with the agent', ms(whole, 0.5), ms(whole, 0.95)],
      ['bare round trips of the same bodies', ms(bare, 0.5), ms(bare, 0.95)],
      ['own overhead', ms(own, 0.5), ms(own, 0.95)],
    ],
  )
}

async function measureHanging({ port, child }: Started): Promise<void> {
  const cpu = (): number => processCpuSeconds(child.pid ?? 0)
  const startedAt = cpu()
  const quiet = await probe(port, HANG_SECONDS * 1000)
  const quietUntil = cpu()
  const leave = new AbortController()
  const hanging = Array.from({ length: HANGING }, () =>
    chat(port, { prompt: 'hang', model: 'hang' }, leave.signal).catch(() => undefined),
  )
  const opening = await probe(port, OPENING_MS)
  const openUntil = cpu()
  const busy = await probe(port, HANG_SECONDS * 1000)
  const busyUntil = cpu()
  leave.abort()
  await Promise.all(hanging)
  printTable(
    `Answers to a health probe every ${PROBE_MS} ms for ${HANG_SECONDS} s, while runs wait for a provider that never answers`,
    ['waiting runs', 'median', 'p99', 'slowest', 'processor time of the service'],
    [
      row('none', quiet, quietUntil - startedAt),
      row(`${HANGING}, the first second`, opening, openUntil - quietUntil),
      row(`${HANGING}, then`, busy, busyUntil - openUntil),
    ],
  )
}

function row(title: string, times: readonly number[], cpuSeconds: number): string[] {
  return [title, ms(times, 0.5), ms(times, 0.99), ms(times, 1), `${cpuSeconds.toFixed(2)} s`]
}

/** Response times, ms; the client does nothing else, so a slow response is caused by the server. */
async function probe(port: number, forMs: number): Promise<number[]> {
  const times: number[] = []
  for (const end = performance.now() + forMs; performance.now() < end;) {
    times.push(await time(() => fetch(`http://127.0.0.1:${port}/api/health/live`).then((answer) => answer.text())))
    await sleep(PROBE_MS)
  }
  return times
}

interface Chat {
  readonly body: { readonly steps?: number }
}

async function chat(port: number, request: object, signal?: AbortSignal): Promise<Chat> {
  const response = await fetch(`http://127.0.0.1:${port}/api/agent/chat`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ provider: 'vllm', ...request }),
    ...(signal ? { signal } : {}),
  })
  const body = (await response.json()) as Chat['body']
  if (response.status !== 200) throw new Error(`${response.status} ${JSON.stringify(body)}`)
  return { body }
}

async function askAll(port: number, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
    await (await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, init)).json()
  }
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function ms(values: readonly number[], share: number): string {
  if (share === 0.5) return `${median(values).toFixed(2)} ms`
  const sorted = [...values].sort((a, b) => a - b)
  return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(2)} ms`
}

/** A provider that calls a tool in all steps but the last, answering immediately, or never answers. */
function serveProvider(): void {
  let bodies: string[] = []
  const server = createServer((request, response) => {
    if (request.url === '/bodies') return void response.end(JSON.stringify(bodies))
    void answer(request, response, (text, isFirst) => {
      if (isFirst) bodies = []
      bodies.push(text)
    })
  })
  server.listen(0, '127.0.0.1', () => process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`))
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  keep: (text: string, isFirst: boolean) => void,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const text = Buffer.concat(chunks).toString()
  const { model, messages } = JSON.parse(text) as { model: string; messages: { role: string }[] }
  if (model === 'hang') return
  const steps = messages.filter(({ role }) => role === 'assistant').length
  keep(text, steps === 0)
  const call = { id: `call${steps}`, type: 'function', function: { name: 'list_tables', arguments: '{}' } }
  const message =
    steps < STEPS - 1
      ? { role: 'assistant', content: null, tool_calls: [call] }
      : { role: 'assistant', content: 'done' }
  const usage = { prompt_tokens: 100, completion_tokens: 10 }
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify({ id: 'x', object: 'chat.completion', model, choices: [{ index: 0, message }], usage }))
}

interface Started {
  readonly port: number
  readonly child: ChildProcess
}

/** Starts a process that prints the port on which it listens. */
async function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  runtime = RUNTIME,
): Promise<Started> {
  const child = spawn(runtime, [...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  let said = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    const port = /(?:listening on |http:\/\/[^\s/:]+:)(\d+)/.exec(said)?.[1]
    if (port !== undefined) {
      note(`${args[0] ?? ''} listens on ${port}`)
      return { port: Number(port), child }
    }
    if (child.exitCode !== null) break
    await sleep(50)
  }
  throw new Error(`${args.join(' ')} did not start: ${said.slice(-500)}`)
}
