import { ClusterError } from './cluster-error.ts'
import { CLUSTER_PERMISSIONS, type NotebookCluster } from './notebook-cluster.ts'

/** `not_configured`: nothing names a cluster. `failing`: what is named cannot be used now. */
export type GateState = 'not_configured' | 'failing' | 'ok'

export interface ClusterGateDeps {
  /** Reads the access anew; undefined: no cluster is configured. Throws `ClusterError`. */
  readonly connect: (() => Promise<NotebookCluster>) | undefined
  readonly probeMs: number
  /** Told of each change, with the reason when it fails. */
  readonly onChange: (state: GateState, problem: string | undefined) => void
}

/** Whether there is a cluster for notebooks, and the cluster itself. */
export interface ClusterGate {
  /**
   * Whether the cluster could be used once: from then on notebooks exist here, and a cluster that fails later is a
   * failure and not an absence.
   */
  available(): boolean
  state(): GateState
  /** Throws `ClusterError` `unavailable` before it {@link ClusterGate.available}. */
  cluster(): NotebookCluster
  /** Asks the cluster now, whatever the timer says. */
  probe(): Promise<void>
  /** Asks the cluster from time to time. */
  start(): void
  close(): void
}

/**
 * A gate over the cluster that is configured: it counts as there when it tells its version and says that this process
 * may do all that notebooks need. Without one of these rights every start would fail halfway.
 */
export function createClusterGate({ connect, probeMs, onChange }: ClusterGateDeps): ClusterGate {
  let state: GateState = connect ? 'failing' : 'not_configured'
  let told: string | undefined
  let cluster: NotebookCluster | undefined
  let probing: Promise<void> | undefined
  let timer: ReturnType<typeof setInterval> | undefined

  const enter = (next: GateState, problem?: string): void => {
    const summary = `${next} ${problem ?? ''}`
    state = next
    if (summary === told) return
    told = summary
    onChange(next, problem)
  }
  const probe = async (): Promise<void> => {
    if (!connect) return
    try {
      // A kubeconfig or a certificate may have been replaced: what fails is read again.
      const candidate = cluster && state === 'ok' ? cluster : await connect()
      await candidate.version()
      await requirePermissions(candidate)
      cluster = candidate
      enter('ok')
    } catch (error) {
      enter('failing', error instanceof Error ? error.message : String(error))
    }
  }
  const probeOnce = (): Promise<void> => (probing ??= probe().finally(() => (probing = undefined)))
  return {
    available: () => cluster !== undefined,
    state: () => state,
    cluster() {
      if (cluster) return cluster
      throw new ClusterError('unavailable', 'there is no cluster')
    },
    probe: probeOnce,
    start() {
      if (connect) timer = setInterval(() => void probeOnce(), probeMs)
    },
    close: () => clearInterval(timer),
  }
}

async function requirePermissions(cluster: NotebookCluster): Promise<void> {
  const allowed = await Promise.all(CLUSTER_PERMISSIONS.map((permission) => cluster.mayI(permission)))
  const missing = CLUSTER_PERMISSIONS.filter((_, i) => allowed[i] === false)
  if (missing.length === 0) return
  const list = missing.map(({ verb, resource }) => `${verb} ${resource}`).join(', ')
  throw new ClusterError('forbidden', `the account may not ${list} in namespace ${cluster.namespace}`)
}
