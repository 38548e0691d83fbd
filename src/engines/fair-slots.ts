import { DomainError } from '../domain/errors.ts'
import { IcebergError } from '../iceberg/errors.ts'

/** Limits on running and waiting work of one kind. */
export interface LaneLimits {
  readonly running: number
  /** Of one owner; default: no more than {@link running}. */
  readonly runningPerOwner?: number
  /** Default: no bound. */
  readonly waiting?: number
  readonly waitingPerOwner?: number
}

/** Work that needs a slot. */
export interface SlotRequest<Lane extends string> {
  readonly lane: Lane
  /** The user who requested the work; all work without a user counts as one user. */
  readonly owner?: string | undefined
  readonly signal?: AbortSignal | undefined
}

interface Waiting<Lane extends string> {
  readonly lane: Lane
  readonly owner: string
  readonly grant: () => void
}

const RETRY_AFTER_S = 5

/** How busy a lane is. */
export interface LaneLoad {
  readonly lane: string
  readonly limit: number
  readonly running: number
  readonly waiting: number
}

/** The error of a run whose signal was aborted. */
export function cancelled(signal: AbortSignal | undefined): IcebergError {
  return new IcebergError('CANCELLED', 'the work was cancelled', { cause: signal?.reason })
}

/**
 * Slots for heavy work, in lanes by kind: a full lane leaves the others free, as far as `total` allows. Of the
 * waiting work, the first of the owner with the least running work is next.
 */
export class FairSlots<Lane extends string> {
  readonly #lanes: Readonly<Record<Lane, LaneLimits>>
  readonly #total: number
  readonly #running: { readonly lane: Lane; readonly owner: string }[] = []
  #waiting: Waiting<Lane>[] = []

  constructor(lanes: Readonly<Record<Lane, LaneLimits>>, total = Number.POSITIVE_INFINITY) {
    this.#lanes = lanes
    this.#total = total
  }

  /**
   * Runs `work` when a slot is free. `CANCELLED` when the signal aborts while it waits; `RATE_LIMITED` and `ENGINE_BUSY`
   * (`DomainError`) when too much work of this owner or of all is waiting.
   */
  async run<T>({ lane, owner = '', signal }: SlotRequest<Lane>, work: () => Promise<T>): Promise<T> {
    if (signal?.aborted) throw cancelled(signal)
    const holder = { lane, owner }
    if (this.#mayRun(lane, owner)) this.#running.push(holder)
    else {
      this.#requireRoom(lane, owner)
      await this.#wait(holder, signal)
    }
    try {
      return await work()
    } finally {
      this.#running.splice(this.#running.indexOf(holder), 1)
      this.#grantNext()
    }
  }

  /** How busy each lane is now. */
  load(): readonly LaneLoad[] {
    const lanes = Object.entries<LaneLimits>(this.#lanes)
    const count = (list: readonly { readonly lane: string }[], lane: string): number =>
      list.filter((one) => one.lane === lane).length
    return lanes.map(([lane, { running: limit }]) => ({
      lane,
      limit,
      running: count(this.#running, lane),
      waiting: count(this.#waiting, lane),
    }))
  }

  #wait(holder: { readonly lane: Lane; readonly owner: string }, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(cancelled(signal))
      }
      const grant = (): void => {
        signal?.removeEventListener('abort', abort)
        this.#running.push(holder)
        resolve()
      }
      const waiting: Waiting<Lane> = { ...holder, grant }
      this.#waiting.push(waiting)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  #mayRun(lane: Lane, owner: string): boolean {
    const { running, runningPerOwner = running } = this.#lanes[lane]
    return (
      this.#running.length < this.#total &&
      this.#count(this.#running, lane) < running &&
      this.#count(this.#running, lane, owner) < runningPerOwner
    )
  }

  #requireRoom(lane: Lane, owner: string): void {
    const { waiting = Number.POSITIVE_INFINITY, waitingPerOwner = waiting } = this.#lanes[lane]
    if (this.#count(this.#waiting, lane) >= waiting) {
      throw new DomainError('ENGINE_BUSY', 'too many queries are waiting: try again later', {
        retryAfterS: RETRY_AFTER_S,
      })
    }
    if (this.#count(this.#waiting, lane, owner) >= waitingPerOwner) {
      throw new DomainError('RATE_LIMITED', `${waitingPerOwner} of your queries are waiting already: try again later`, {
        retryAfterS: RETRY_AFTER_S,
      })
    }
  }

  #grantNext(): void {
    const ready = this.#waiting.filter(({ lane, owner }) => this.#mayRun(lane, owner))
    const load = ({ owner }: Waiting<Lane>): number => this.#running.filter((other) => other.owner === owner).length
    const [next] = ready.sort((a, b) => load(a) - load(b))
    if (next === undefined) return
    this.#waiting = this.#waiting.filter((other) => other !== next)
    next.grant()
    this.#grantNext()
  }

  #count(list: readonly { readonly lane: Lane; readonly owner: string }[], lane: Lane, owner?: string): number {
    return list.filter((one) => one.lane === lane && (owner === undefined || one.owner === owner)).length
  }
}
