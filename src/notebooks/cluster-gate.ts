import { sleep } from '../lib/sleep.ts'
import { type Loop, startLoop } from '../lib/start-loop.ts'
import { ClusterError } from './cluster-error.ts'
import { CLUSTER_PERMISSIONS, type NotebookCluster } from './cluster.ts'

/** `not_configured`: no cluster is configured. `failing`: the configured cluster cannot be used now. */
export type GateState = 'not_configured' | 'failing' | 'ok'

export interface ClusterGateDeps {
  /** Reads the access configuration and connects; undefined: no cluster is configured. Throws `ClusterError`. */
  readonly connect: (() => Promise<NotebookCluster>) | undefined
  readonly probeMs: number
  /** Called on each change of the state, with the reason when it is `failing`. */
  readonly onChange: (state: GateState, problem: string | undefined) => void
}

/** Availability of the notebook cluster, and the cluster itself. */
export interface ClusterGate {
  /**
   * Whether the cluster has worked at least once. From then on the notebook routes exist, and later problems are
   * reported as failures.
   */
  available(): boolean
  state(): GateState
  /** Throws `ClusterError` `unavailable` until {@link ClusterGate.available} is true. */
  cluster(): NotebookCluster
  /** For the health of the service. Throws when the configured cluster cannot be used. */
  check(): Promise<void | 'not_configured'>
  /** Checks the cluster now, independent of the timer. */
  probe(): Promise<void>
  /** As {@link ClusterGate.probe}, but resolves after `ms` even if the cluster has not answered. */
  probeWithin(ms: number): Promise<void>
  /** Checks the cluster periodically. */
  start(): void
  close(): void
}

/**
 * Creates the gate for the configured cluster. The cluster is `ok` when it returns its version and grants this process
 * all permissions that notebooks need: without one of them, every start would fail halfway.
 */
export function createClusterGate({ connect, probeMs, onChange }: ClusterGateDeps): ClusterGate {
  let state: GateState = connect ? 'failing' : 'not_configured'
  let reported: string | undefined
  let cluster: NotebookCluster | undefined
  let probing: Promise<void> | undefined
  let loop: Loop | undefined

  const enter = (next: GateState, problem?: string): void => {
    const summary = `${next} ${problem ?? ''}`
    state = next
    if (summary === reported) return
    reported = summary
    onChange(next, problem)
  }
  const fail = (error: unknown): void => enter('failing', error instanceof Error ? error.message : String(error))
  const probe = async (): Promise<void> => {
    if (!connect) return
    try {
      // A kubeconfig or certificate may have been replaced: after a failure, read them again.
      const candidate = cluster && state === 'ok' ? cluster : await connect()
      await candidate.version()
      await requirePermissions(candidate)
      cluster = candidate
      enter('ok')
    } catch (error) {
      fail(error)
    }
  }
  const probeOnce = (): Promise<void> => (probing ??= probe().finally(() => (probing = undefined)))
  return {
    available: () => cluster !== undefined,
    state: () => state,
    cluster() {
      if (cluster) return cluster
      throw new ClusterError('unavailable', 'no cluster is available')
    },
    async check() {
      if (state === 'not_configured') return 'not_configured'
      if (state === 'failing') throw new Error('the cluster cannot be used')
      return undefined
    },
    probe: probeOnce,
    async probeWithin(ms) {
      const answered = new AbortController()
      await Promise.race([probeOnce(), sleep(ms, answered.signal)])
      answered.abort()
    },
    start() {
      if (connect) loop = startLoop({ everyMs: probeMs, firstMs: probeMs, tick: probeOnce, onError: fail })
    },
    close: () => void loop?.stop(),
  }
}

async function requirePermissions(cluster: NotebookCluster): Promise<void> {
  const allowed = await Promise.all(CLUSTER_PERMISSIONS.map((permission) => cluster.mayI(permission)))
  const missing = CLUSTER_PERMISSIONS.filter((_, i) => allowed[i] === false)
  if (missing.length === 0) return
  const list = missing.map(({ verb, resource }) => `${verb} ${resource}`).join(', ')
  throw new ClusterError('forbidden', `the account lacks these permissions in namespace ${cluster.namespace}: ${list}`)
}
