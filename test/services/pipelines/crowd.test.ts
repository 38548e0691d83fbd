import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect, it } from 'vitest'
import { ADMIN_TOKEN } from '../../support/service.ts'
import { connectRaw, type RawSocketClient } from '../../support/network/raw-socket-client.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

/** `MONITOR_CLIENTS=1000` is the full number of clients; one fifth of them never reads. */
const CLIENTS = Number(process.env['MONITOR_CLIENTS'] ?? 100)
const TICKS = Number(process.env['MONITOR_TICKS'] ?? 6)
const LAZY = CLIENTS / 5
const PIPELINES = 10
const BYTES = 2000
const MB = 1024 * 1024
const PATIENCE_MS = 240_000

interface Line {
  readonly host?: string
  readonly tick?: number
  readonly rss?: number
  readonly watchers?: number
  /** CPU time used since the start. */
  readonly cpuMs?: number
  readonly stoppedMs?: number
}

let child: ChildProcess | undefined
const clients: RawSocketClient[] = []
afterEach(() => {
  for (const { socket } of clients) socket.destroy()
  child?.kill('SIGKILL')
})

it(
  `delivers every tick to ${CLIENTS - LAZY} clients within seconds while ${LAZY} never read, in bounded memory`,
  { ...LONG, timeout: 300_000 },
  async () => {
    const flags = 'Bun' in globalThis ? [] : ['--disable-warning=ExperimentalWarning']
    child = spawn(
      process.execPath,
      [...flags, join(import.meta.dirname, 'crowd-in-process.ts'), String(PIPELINES), String(BYTES)],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    )
    const lines: Line[] = []
    createInterface({ input: child.stdout! }).on('line', (line) => lines.push(JSON.parse(line)))
    await until(() => lines[0]?.host !== undefined && lines.length > 2, undefined, PATIENCE_MS)
    const host = lines[0]!.host!

    const before = rssAfter(lines, 0)
    const goodbyes = { count: 0 }
    const healthy = Array.from({ length: CLIENTS - LAZY }, () => ({
      ticks: [] as number[][],
      slowestMs: 0,
      dropped: 0,
    }))
    for (let at = 0; at < CLIENTS; at += 1) {
      const client = await connectRaw({
        host,
        path: '/api/pipeline/monitor',
        headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, Origin: `http://${host}` },
        onFrame: ({ opcode, payload }) => {
          if (opcode === 8 && payload.readUInt16BE(0) === 1001) goodbyes.count += 1
          const log = healthy[at]
          if (opcode !== 1 || log === undefined) return
          const head = payload.toString('latin1', 0, 200)
          const found = /"dropped":(\d+),"pipeline_id":"pipe-(\d+)","progress":\{"tick":(\d+),"at":(\d+)/.exec(head)
          if (found === null) return
          const [dropped = 0, pipeline = 0, tick = 0, sentAt = 0] = found.slice(1).map(Number)
          log.dropped += dropped
          log.slowestMs = Math.max(log.slowestMs, Date.now() - sentAt)
          ;(log.ticks[pipeline] ??= []).push(tick)
        },
      })
      expect(client.head).toMatch(/^HTTP\/1\.1 101/)
      if (at >= CLIENTS - LAZY) client.socket.pause()
      clients.push(client)
    }
    const firstTick = (lines.at(-1)?.tick ?? 0) + 1
    const lastTick = firstTick + TICKS - 1
    // The time to connect is not measured.
    for (const log of healthy) log.slowestMs = 0
    await until(() => (lines.at(-1)?.tick ?? 0) > lastTick, undefined, PATIENCE_MS)
    expect(lines.at(-1)?.watchers).toBe(CLIENTS)
    const peak = Math.max(...lines.flatMap(({ rss }) => rss ?? []))
    const slowestMs = Math.max(...healthy.map((log) => log.slowestMs))
    const cpu = lines.filter(({ tick }) => tick === firstTick || tick === lastTick).map((line) => line.cpuMs ?? 0)
    const cpuPerTick = Math.round(((cpu[1] ?? 0) - (cpu[0] ?? 0)) / (TICKS - 1))
    console.log(
      `${CLIENTS} clients, ${LAZY} of them lazy, ${TICKS} ticks of ${PIPELINES} × ${BYTES} B: slowest delivery ${slowestMs} ms, memory +${Math.round((peak - before) / MB)} MB, ${cpuPerTick} ms of CPU per tick`,
    )
    for (const { ticks, dropped } of healthy) {
      expect(dropped).toBe(0)
      for (let pipeline = 0; pipeline < PIPELINES; pipeline += 1) {
        const wanted = Array.from({ length: TICKS }, (_, index) => firstTick + index)
        expect(ticks[pipeline]?.filter((tick) => tick >= firstTick && tick <= lastTick)).toEqual(wanted)
      }
    }
    expect(slowestMs).toBeLessThan(10_000)
    expect(peak - before).toBeLessThan(150 * MB)

    child.stdin!.end()
    await until(() => lines.at(-1)?.stoppedMs !== undefined, undefined, PATIENCE_MS)
    expect(lines.at(-1)?.stoppedMs).toBeLessThan(10_000)
    await until(() => goodbyes.count >= CLIENTS - LAZY, undefined, PATIENCE_MS)
  },
)

/** Memory of the service in the last tick. */
function rssAfter(lines: readonly Line[], tick: number): number {
  return lines.findLast((line) => (line.tick ?? 0) > tick)?.rss ?? 0
}
