import type { CDPSession, Page } from 'playwright-core'

/** How long the main thread of a page could not answer its user while the page was loaded. */
export interface BlockingTime {
  /** Sum over all tasks after the first paint of what they take beyond 50 ms (total blocking time), ms. */
  readonly afterPaintMs: number
  /** The same over all tasks from the beginning, ms. */
  readonly allMs: number
}

/** A task that takes longer than this keeps its user waiting, ms (https://web.dev/articles/tbt). */
const BLOCKING_MS = 50

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** Microseconds. */
  readonly ts: number
  /** Microseconds. */
  readonly dur?: number
  /** Microseconds of processor time. */
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/** How a load is slowed down, as on a computer that is `slowdown` times slower. */
export type Clock =
  /** The browser slows the page down and wall-clock time counts: right on a machine that does nothing else. */
  | 'wall'
  /** Processor time of the page at full speed, multiplied: other programs change it little. */
  | 'processor'

export interface BlockingOptions {
  readonly slowdown: number
  readonly clock: Clock
}

/** Blocking time of a load: `load` opens an address, and is over when the page is at rest; fails without a first paint. */
export async function watchBlocking(
  page: Page,
  { slowdown, clock }: BlockingOptions,
  load: () => Promise<void>,
): Promise<BlockingTime> {
  const session = await page.context().newCDPSession(page)
  try {
    if (clock === 'wall') await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
    const events = await trace(session, load)
    await session.send('Emulation.setCPUThrottlingRate', { rate: 1 })
    return summarize(
      events,
      clock === 'wall' ? ({ dur = Number.NaN }) => dur : ({ tdur = Number.NaN }) => tdur * slowdown,
    )
  } finally {
    await session.detach()
  }
}

async function trace(session: CDPSession, load: () => Promise<void>): Promise<readonly TraceEvent[]> {
  const events: TraceEvent[] = []
  // The protocol's type of an event is an open record.
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as readonly TraceEvent[])))
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel', 'loading', 'disabled-by-default-devtools.timeline', '__metadata'] },
  })
  await load()
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  await session.send('Tracing.end')
  await complete
  return events
}

function summarize(events: readonly TraceEvent[], microsOf: (task: TraceEvent) => number): BlockingTime {
  const mainThreads = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const onMainThread = events.filter(({ pid, tid }) => mainThreads.has(`${pid} ${tid}`))
  const tasks = onMainThread.filter(({ name, ph }) => name === 'RunTask' && ph === 'X')
  const paint = Math.max(...onMainThread.filter(({ name }) => name === 'firstContentfulPaint').map(({ ts }) => ts))
  if (tasks.length === 0 || !Number.isFinite(paint))
    throw new Error('the trace has no tasks or no first paint of a page')
  const blockedBy = (some: readonly TraceEvent[]): number =>
    some.reduce((sum, task) => sum + Math.max(0, microsOf(task) / 1000 - BLOCKING_MS), 0)
  return { afterPaintMs: blockedBy(tasks.filter(({ ts }) => ts >= paint)), allMs: blockedBy(tasks) }
}
