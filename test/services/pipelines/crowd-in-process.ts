import { startServedService } from '../../support/served.ts'
import { every } from '../../support/waiting.ts'

/**
 * The service in a separate process, with pipelines that report every second: `<pipelines> <bytes per report>`.
 * Prints one JSON line with its address, then one per tick with its memory.
 */
const [pipelines = 10, bytes = 2000] = process.argv.slice(2).map(Number)
const served = await startServedService()
const filler = 'x'.repeat(bytes)
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
say({ host: served.host })

let tick = 0
const stopTicking = every(1000, () => {
  tick += 1
  for (let pipeline = 0; pipeline < pipelines; pipeline += 1) {
    const at = Date.now()
    served.service.context.hub.publish('progress', `pipe-${pipeline}`, {
      tick,
      at,
      filler,
      sources: [],
      sink: { num_output_rows: 0 },
    })
  }
  say({
    tick,
    rss: process.memoryUsage().rss,
    watchers: served.service.context.app.monitor.watcherCount(),
    cpuMs: Math.round((process.cpuUsage().user + process.cpuUsage().system) / 1000),
  })
})

process.stdin.resume()
process.stdin.once('end', () => {
  stopTicking()
  const startedAt = performance.now()
  void served.stop(true).then(() => {
    say({ stoppedMs: performance.now() - startedAt })
    process.exit(0)
  })
})
