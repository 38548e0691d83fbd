// Start of the service: from spawn to the first 200, and idle memory.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, megabytes, note, printTable, ratio, seconds } from './support/report.ts'
import { processMemory } from './support/process-memory.ts'
import { withWorkFolder } from './support/work-folder.ts'
import { freePort } from '../test/support/network/free-port.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUN = `${ROOT}node_modules/.bin/bun`
/** Of `npm run build:binary`; measured when it is there. */
const BINARY = `${ROOT}dist/lockhouse`
const RUNS = Number(process.env['BENCH_RUNS'] ?? 11)
const IDLE_MS = 3000

interface Start {
  readonly ms: number
  readonly rss: number
}

const BARE = "Bun.serve({ port: Number(process.env.PORT), fetch: () => new Response('ok') })"

await withWorkFolder('start', async (folder) => {
  const measured: Record<'bare' | 'fresh' | 'again' | 'binary', Start[]> = {
    bare: [],
    fresh: [],
    again: [],
    binary: [],
  }
  for (let run = 0; run <= RUNS; run++) {
    const home = `${folder}/home-${run}`
    mkdirSync(home)
    const bare = await measureStart([BUN, '-e', BARE], home)
    const fresh = await measureStart([BUN, 'src/main.ts'], home)
    const again = await measureStart([BUN, 'src/main.ts'], home)
    const binary = existsSync(BINARY) ? await measureStart([BINARY, 'serve'], home) : undefined
    note(`run ${run}: bare ${bare.ms.toFixed(0)} ms, fresh ${fresh.ms.toFixed(0)} ms, again ${again.ms.toFixed(0)} ms`)
    if (run === 0) continue // the file cache is cold
    measured.bare.push(bare)
    measured.fresh.push(fresh)
    measured.again.push(again)
    if (binary) measured.binary.push(binary)
  }
  const row = (title: string, starts: readonly Start[]) => [
    title,
    seconds(starts.map((start) => start.ms)),
    `${Math.max(...starts.map((start) => start.ms)).toFixed(0)} ms`,
    ratio(
      measured.bare.map((start) => start.ms),
      starts.map((start) => start.ms),
    ),
    megabytes(median(starts.map((start) => start.rss))),
  ]
  printTable(
    `Start, ${RUNS} runs: spawn to the first 200 of GET /api/health, and resident memory ${IDLE_MS / 1000} s later`,
    ['', 'median', 'slowest', 'against a bare Bun.serve', 'idle memory'],
    [
      row('bare `Bun.serve`', measured.bare),
      row('first start (new state directory)', measured.fresh),
      row('later start', measured.again),
      ...(measured.binary.length === 0 ? [] : [row('later start of the executable', measured.binary)]),
    ],
  )
})

async function measureStart(command: readonly string[], home: string): Promise<Start> {
  const port = await freePort()
  const started = performance.now()
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd: ROOT,
    stdio: 'ignore',
    env: { ...process.env, PORT: String(port), LOCKHOUSE_HOME: home, LOG_LEVEL: 'warn' },
  })
  const exited = once(child, 'exit')
  try {
    await firstOk(port, started)
    const ms = performance.now() - started
    await sleep(IDLE_MS)
    return { ms, rss: processMemory(child.pid ?? -1).now }
  } finally {
    child.kill('SIGTERM')
    await exited
  }
}

async function firstOk(port: number, started: number): Promise<void> {
  while (performance.now() - started < 30_000) {
    const response = await fetch(`http://127.0.0.1:${port}/api/health`).catch(() => undefined)
    if (response?.status === 200) return
    await sleep(2)
  }
  throw new Error('no 200 within 30 s')
}
