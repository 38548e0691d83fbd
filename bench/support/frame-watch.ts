import type { Page } from 'playwright-core'

/** What a browser drew while something went on. */
export interface FrameReport {
  /** Times between frames, ms, ascending. */
  readonly frames: readonly number[]
  /** Tasks of more than 50 ms on the main thread, ms. */
  readonly longTasks: readonly number[]
  /** Processor time of the page's main thread for each frame, ms: what the page costs, however busy the machine is. */
  readonly mainThreadMs: number
}

/** Frames of a page while its list is scrolled a few rows a frame, to and fro, for `ms`. */
export async function watchScrolling(page: Page, ms: number): Promise<FrameReport> {
  return watch(page, `(${scrollInPage})(${ms})`)
}

/** Frames of a page that is left alone for `ms`. */
export async function watchResting(page: Page, ms: number): Promise<FrameReport> {
  return watch(page, `(${scrollInPage})(${ms}, 0)`)
}

async function watch(page: Page, script: string): Promise<FrameReport> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const taskSeconds = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
  }
  const before = await taskSeconds()
  const { frames, longTasks } = await page.evaluate<Omit<FrameReport, 'mainThreadMs'>>(script)
  const mainThreadMs = ((await taskSeconds()) - before) * (1000 / frames.length)
  await session.detach()
  return { frames: frames.toSorted((a, b) => a - b), longTasks, mainThreadMs }
}

/** Runs in the page, as text. */
const scrollInPage = `async (ms, step = 90) => {
  const list = document.querySelector('[role="grid"]')
  const longTasks = []
  const observer = new PerformanceObserver((found) => longTasks.push(...found.getEntries().map((task) => task.duration)))
  observer.observe({ type: 'longtask' })
  const frames = []
  let last
  let direction = 1
  const bottom = list.scrollHeight - list.clientHeight - 1 // asked for in a frame, it would lay the page out once more
  let top = list.scrollTop
  const end = performance.now() + ms
  await new Promise((resolve) => {
    const draw = (now) => {
      if (last !== undefined) frames.push(now - last)
      last = now
      if (top >= bottom) direction = -1
      if (top <= 0) direction = 1
      top += step * direction
      list.scrollTop = top
      if (now < end) requestAnimationFrame(draw)
      else resolve()
    }
    requestAnimationFrame(draw)
  })
  observer.disconnect()
  return { frames, longTasks }
}`

/** Times from an input to the next frame that shows what came of it (Event Timing), ms; whole 8 ms, 16 at least. */
export async function watchInput(page: Page, act: () => Promise<void>): Promise<readonly number[]> {
  await page.evaluate(`globalThis.inputTimes = []
    globalThis.inputObserver = new PerformanceObserver((found) => globalThis.inputTimes.push(
      ...found.getEntries().filter(({ interactionId }) => interactionId > 0).map(({ interactionId, duration }) => [interactionId, duration])))
    globalThis.inputObserver.observe({ type: 'event', durationThreshold: 16 })`)
  await act()
  await page.waitForTimeout(500)
  const found = await page.evaluate<readonly (readonly [number, number])[]>(`(() => {
    globalThis.inputObserver.disconnect()
    return globalThis.inputTimes
  })()`)
  const longest = new Map<number, number>()
  for (const [id, duration] of found) longest.set(id, Math.max(duration, longest.get(id) ?? 0))
  return [...longest.values()]
}
