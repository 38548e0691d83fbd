import { type BackOff, backOffMs } from '../../lib/back-off.ts'
import { sleep } from '../../lib/sleep.ts'
import { type Loop, startLoop } from '../../lib/start-loop.ts'
import type { Instance } from '../../storage/instance-registry.ts'
import {
  type DeploymentKey,
  type DeploymentRecord,
  placeKey,
} from '../../storage/stores/deployments/deployment-store.ts'
import type { LeaseTimes } from '../../streaming/supervision/supervisor.ts'
import type { RunEnvironment } from '../../domain/environments.ts'
import { isOpenNow } from '../environments/environment-rules.ts'
import type { RolloutDeps } from './deployment-deps.ts'
import { type RollingOut, Superseded } from './deployment-change.ts'
import { takeStep } from './rollout-steps.ts'

export interface RolloutWorkerDeps extends Omit<RolloutDeps, 'instanceId' | 'stopRequests'> {
  readonly instance: Pick<Instance, 'id' | 'alive'>
  readonly lease?: LeaseTimes | undefined
  /** How often the pipelines of rollouts are looked at, ms. */
  readonly pollMs?: number | undefined
}

/** Carries out rollouts, also those that a process which no longer runs has begun. */
export interface RolloutWorker {
  start(): void
  /** Looks for new rollouts at once. */
  wake(): void
  /** Ends after the current steps; others, or the next start, continue. */
  close(): Promise<void>
}

/** As those of pipelines. */
const LEASE: LeaseTimes = { ms: 10_000, tickMs: 1000 }
const POLL_MS = 200
/** Waits after a step that failed. */
const RETRY: BackOff = { firstMs: 200, maxMs: 10_000 }

/** A worker in this process. Of several processes the one that holds the lease of a rollout carries it out. */
export function createRolloutWorker(deps: RolloutWorkerDeps): RolloutWorker {
  return new Worker(deps)
}

class Worker implements RolloutWorker {
  readonly #deps: RolloutWorkerDeps
  readonly #stepDeps: RolloutDeps
  readonly #lease: LeaseTimes
  readonly #active = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  #loop: Loop | undefined

  constructor(deps: RolloutWorkerDeps) {
    this.#deps = deps
    this.#stepDeps = { ...deps, instanceId: deps.instance.id, stopRequests: new Set() }
    this.#lease = deps.lease ?? LEASE
  }

  start(): void {
    this.#loop ??= startLoop({
      everyMs: this.#lease.tickMs,
      tick: () => this.#tick(),
      onError: (error) => this.#deps.log.error('rollouts could not be checked', { error }),
    })
  }

  wake(): void {
    this.#loop?.wake()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#loop?.stop()
    await Promise.all(this.#active.values())
    await this.#deps.deployments.release(this.#deps.instance.id)
  }

  async #tick(): Promise<void> {
    const { deployments, instance, now } = this.#deps
    const rollouts = await deployments.listRollouts()
    if (rollouts.length === 0) return
    const nowMs = now().getTime()
    const untilMs = nowMs + this.#lease.ms
    await deployments.renew({ owner: instance.id, untilMs }, nowMs)
    const alive = await instance.alive()
    for (const record of await this.#ready(rollouts)) {
      const key = placeKey(record)
      if (this.#active.has(key) || this.#stopping.signal.aborted) continue
      const owner = record.leaseOwner
      const dead = owner !== undefined && !alive.has(owner) ? owner : undefined
      const lease = { owner: instance.id, untilMs }
      if (!(await deployments.claim(record, lease, { nowMs, ...(dead === undefined ? {} : { dead }) }))) continue
      const { definitionId, environment } = record
      const done = this.#carryOut({ definitionId, environment }).finally(() => this.#active.delete(key))
      this.#active.set(key, done)
    }
  }

  /** The rollouts that do not wait for a window. */
  async #ready(rollouts: readonly DeploymentRecord[]): Promise<readonly DeploymentRecord[]> {
    const { now, rules } = this.#deps
    const waiting = rollouts.filter(({ rollout }) => rollout?.phase === 'waiting_for_window')
    const open = new Set<RunEnvironment>()
    for (const environment of new Set(waiting.map((record) => record.environment))) {
      if (isOpenNow(await rules(environment), now())) open.add(environment)
    }
    return rollouts.filter(
      ({ rollout, environment }) => rollout?.phase !== 'waiting_for_window' || open.has(environment),
    )
  }

  /** Takes steps until the rollout has ended, or this process has lost it. */
  async #carryOut(key: DeploymentKey): Promise<void> {
    let failures = 0
    while (!this.#stopping.signal.aborted) {
      try {
        const record = await this.#deps.deployments.find(key)
        if (!isHeld(record, this.#deps.instance.id)) return
        const result = await takeStep(this.#stepDeps, record)
        failures = 0
        if (result === 'leave') return
        if (result === 'wait') await sleep(this.#deps.pollMs ?? POLL_MS, this.#stopping.signal)
      } catch (error) {
        if (error instanceof Superseded) continue
        this.#deps.log.warn('a step of a rollout failed and is repeated', { ...key, error })
        failures += 1
        await sleep(backOffMs(RETRY, failures), this.#stopping.signal)
      }
    }
  }
}

function isHeld(record: DeploymentRecord | undefined, owner: number): record is RollingOut {
  return record?.rollout !== undefined && record.leaseOwner === owner
}
