import { DomainError } from '../../domain/errors.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import { isLimited } from '../identity/access/require-access.ts'
import { type Loop, startLoop } from '../../lib/start-loop.ts'
import { createMailbox, type Delivery } from '../../streaming/supervision/mailbox.ts'
import type { HubEvent, MetricsHub } from '../../streaming/supervision/metrics-hub.ts'

export interface MonitorServiceDeps {
  readonly hub: MetricsHub
  /** All pipelines that exist for the caller, or one, as the API returns them; throws `NOT_FOUND` for an unknown one. */
  readonly listPipelines: (caller: Caller, pipelineId: string | undefined) => Promise<readonly object[]>
  readonly now: () => Date
  readonly settings?: Partial<MonitorSettings> | undefined
}

export interface MonitorSettings {
  readonly heartbeatMs: number
  /** How often the caller's credential and role are checked again. */
  readonly recheckMs: number
  /** A client that reads nothing for this time is disconnected. */
  readonly stuckMs: number
  /** A client that sends nothing, not even a pong, for this time is disconnected. */
  readonly silentMs: number
  readonly maxWatchers: number
  readonly maxWatchersPerUser: number
}

const DEFAULTS: MonitorSettings = {
  heartbeatMs: 15_000,
  recheckMs: 30_000,
  stuckMs: 30_000,
  silentMs: 60_000,
  maxWatchers: 5000,
  maxWatchersPerUser: 2000,
}

/** How many consecutive checks may fail for internal reasons before a watcher is disconnected. */
const MAX_FAILED_CHECKS = 3

/** A request to watch pipelines. */
export interface WatchRequest {
  readonly caller: Caller
  readonly pipelineId: string | undefined
  /** Checks the caller again; undefined or `UNAUTHENTICATED` when the credential has ended. */
  readonly checkCaller: () => Promise<Caller | undefined>
}

/** Why the service ends a watch. */
export type WatchEnd = 'credential-over' | 'role-too-low' | 'unavailable' | 'too-many'

/** Ends a watch; see {@link WatchEnd}. */
export class WatchEnded extends Error {
  override readonly name = 'WatchEnded'
  readonly reason: WatchEnd

  constructor(reason: WatchEnd, options?: ErrorOptions) {
    super(`the watch ends: ${reason}`, options)
    this.reason = reason
  }
}

/** Streams pipeline updates in real time (docs/api.md#monitor). */
export interface MonitorService {
  readonly settings: MonitorSettings
  /** Throws `NOT_FOUND` for an unknown pipeline, and `RATE_LIMITED` when there are too many watchers. */
  requireRoom(request: WatchRequest): Promise<void>
  /**
   * The messages of a watch as JSON texts, in batches: first `hello` with all pipelines, then updates and heartbeats.
   * A slow client gets only the newest state and progress of each pipeline.
   * Throws {@link WatchEnded}.
   */
  watch(request: WatchRequest, signal: AbortSignal): AsyncGenerator<readonly string[], void, undefined>
  watcherCount(): number
}

/** The next item for a watcher. */
type Item = HubEvent | { readonly kind: 'heartbeat' } | { readonly kind: 'end'; readonly error: WatchEnded }

/** A monitor over the updates of this process. */
export function createMonitorService(deps: MonitorServiceDeps): MonitorService {
  const settings = { ...DEFAULTS, ...deps.settings }
  const watchers = new Watchers(settings)
  const hello = createHello(deps)
  return {
    settings,
    async requireRoom({ caller, pipelineId }) {
      if (!watchers.hasRoom(caller.user)) {
        throw new DomainError('RATE_LIMITED', 'too many watchers: close a monitor that is not needed', {
          retryAfterS: 10,
        })
      }
      if (pipelineId !== undefined) await deps.listPipelines(caller, pipelineId)
    },
    async *watch(request, signal) {
      const leave = watchers.enter(request.caller.user)
      const mailbox = createMailbox<Item>(signal)
      const stopListening = deps.hub.listen((news) => mailbox.put(news.key, news), request.pipelineId)
      const heartbeat = setInterval(() => mailbox.put('heartbeat', { kind: 'heartbeat' }), settings.heartbeatMs)
      const checks = checkAgain(request, settings.recheckMs, (error) => mailbox.put('end', { kind: 'end', error }))
      try {
        yield [await hello(request)]
        for (let next = await mailbox.take(); next; next = await mailbox.take()) {
          yield messageTexts(await visibleNews(next, request.caller), deps)
        }
      } finally {
        leave()
        stopListening()
        void checks.stop() // a check that does not end must not keep the watcher
        clearInterval(heartbeat)
      }
    },
    watcherCount: () => watchers.count,
  }
}

class Watchers {
  readonly #settings: MonitorSettings
  readonly #byUser = new Map<string, number>()
  count = 0

  constructor(settings: MonitorSettings) {
    this.#settings = settings
  }

  hasRoom(user: string): boolean {
    const { maxWatchers, maxWatchersPerUser } = this.#settings
    return this.count < maxWatchers && (this.#byUser.get(user) ?? 0) < maxWatchersPerUser
  }

  /** Counts a watcher; the returned function removes it. */
  enter(user: string): () => void {
    if (!this.hasRoom(user)) throw new WatchEnded('too-many')
    this.#change(user, 1)
    return () => this.#change(user, -1)
  }

  #change(user: string, by: 1 | -1): void {
    this.count += by
    const count = (this.#byUser.get(user) ?? 0) + by
    if (count === 0) this.#byUser.delete(user)
    else this.#byUser.set(user, count)
  }
}

type Watched = Pick<WatchRequest, 'caller' | 'pipelineId'>

/** The news of pipelines that exist for the caller, by the grants as they are now. */
async function visibleNews({ messages, dropped }: Delivery<Item>, caller: Caller): Promise<Delivery<Item>> {
  if (!isLimited(caller)) return { messages, dropped }
  const visible: Item[] = []
  for (const item of messages) if (await isVisible(item, caller)) visible.push(item)
  return { messages: visible, dropped }
}

async function isVisible(item: Item, { access }: Caller): Promise<boolean> {
  if (item.kind === 'heartbeat' || item.kind === 'end') return true
  try {
    // a pipeline that was deleted has no tables any more, and so its last news has no reader
    return (await access?.isVisible({ kind: 'pipeline', id: item.pipelineId })) === true
  } catch {
    return false
  }
}

/** Creates `hello`; clients that connect while nothing changes share one read of the pipelines. */
function createHello({ hub, listPipelines, now }: MonitorServiceDeps) {
  let shared: { readonly seq: number; readonly text: Promise<string> } | undefined
  const read = async ({ caller, pipelineId }: Watched, seq: number): Promise<string> => {
    const pipelines = await listPipelines(caller, pipelineId)
    return JSON.stringify({ type: 'hello', seq, at: now().toISOString(), pipelines })
  }
  return async (watched: Watched): Promise<string> => {
    const seq = hub.lastSeq
    if (watched.pipelineId !== undefined || isLimited(watched.caller)) return read(watched, seq)
    // A list read while the sequence number does not change is valid for all who have listened since.
    if (shared?.seq === seq) return shared.text
    const own = { seq, text: read(watched, seq) }
    shared = own
    try {
      return await own.text
    } finally {
      if (shared === own) shared = undefined
    }
  }
}

const encoded = new WeakMap<HubEvent, string>()

/** The dropped count is sent with the first of the messages. */
function messageTexts({ messages, dropped }: Delivery<Item>, deps: MonitorServiceDeps): string[] {
  return messages.map((item, at) => messageText(item, at === 0 ? dropped : 0, deps))
}

function messageText(item: Item, dropped: number, { hub, now }: MonitorServiceDeps): string {
  if (item.kind === 'end') throw item.error
  if (item.kind === 'heartbeat') {
    return JSON.stringify({ type: 'heartbeat', seq: hub.lastSeq, at: now().toISOString(), dropped })
  }
  if (dropped > 0) return newsText(item, dropped)
  const known = encoded.get(item)
  if (known !== undefined) return known
  const text = newsText(item, 0)
  encoded.set(item, text)
  return text
}

function newsText({ kind, seq, pipelineId, payload }: HubEvent, dropped: number): string {
  const content = kind === 'state' ? { pipeline: payload } : { progress: payload }
  return JSON.stringify({ type: kind, seq, dropped, pipeline_id: pipelineId, ...content })
}

/** Checks the caller's credential and role periodically. */
function checkAgain({ checkCaller }: WatchRequest, everyMs: number, onEnd: (error: WatchEnded) => void): Loop {
  let failures = 0
  return startLoop({
    everyMs,
    firstMs: everyMs,
    async tick() {
      const caller = await checkCaller()
      failures = 0
      if (caller === undefined) onEnd(new WatchEnded('credential-over'))
      else if (!hasRole(caller.role, 'Auditor')) onEnd(new WatchEnded('role-too-low'))
    },
    onError(error) {
      if (error instanceof DomainError && error.code === 'UNAUTHENTICATED') onEnd(new WatchEnded('credential-over'))
      else if (error instanceof DomainError && error.code === 'FORBIDDEN') onEnd(new WatchEnded('role-too-low'))
      else if (++failures >= MAX_FAILED_CHECKS) onEnd(new WatchEnded('unavailable', { cause: error }))
    },
  })
}
