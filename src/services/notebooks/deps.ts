import { DomainError } from '../../domain/errors.ts'
import { ClusterError, type ClusterErrorCode } from '../../notebooks/cluster-error.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import type { ClusterGate } from '../../notebooks/cluster-gate.ts'
import type { ConfiguredCatalog, PodView } from '../../notebooks/lake-coordinates.ts'
import type { NotebookSettings } from '../../notebooks/spec.ts'
import type { NotebookStore } from '../../storage/stores/notebooks/notebook-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { EventWriter } from '../events/event-log.ts'
import type { Logger } from '../logger.ts'
import type { TokenService } from '../identity/token-service.ts'

/** Dependencies of the notebook services; times are ms. */
export interface NotebookDeps {
  readonly gate: ClusterGate
  readonly store: NotebookStore
  readonly tokens: Pick<TokenService, 'change' | 'isInUse'>
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly settings: NotebookSettings & { readonly warningMs: number; readonly tokenMs: number }
  /** Path of the service on its host; see `hostedNotebookPath`. */
  readonly basePath: string
  readonly podView: PodView
  /** The last known state of a pod, even when it is gone; undefined when this process has not seen it. */
  readonly lastSeen: (uid: string) => ClusterPod | undefined
  readonly catalog: () => ConfiguredCatalog
  readonly now: () => Date
  readonly randomBytes: (length: number) => Uint8Array
  readonly log: Logger
  /** How often to poll a pod that is being deleted, and for how long. */
  readonly waits: { readonly pollMs: number; readonly goneMs: number }
}

const CODES: Readonly<Record<ClusterErrorCode, 'CLUSTER_UNAVAILABLE' | 'CLUSTER_TIMEOUT' | 'CLUSTER_REFUSED'>> = {
  unavailable: 'CLUSTER_UNAVAILABLE',
  timeout: 'CLUSTER_TIMEOUT',
  forbidden: 'CLUSTER_REFUSED',
  invalid: 'CLUSTER_REFUSED',
  exists: 'CLUSTER_REFUSED',
  expired: 'CLUSTER_UNAVAILABLE',
}

const RETRY_AFTER_S = 5
const MAX_MESSAGE_LENGTH = 300

/** Calls the cluster; logs its failures and turns them into errors of this service. */
export async function withCluster<T>(log: Logger, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    log.warn('the cluster failed a request', { code: error.code, error })
    const code = CODES[error.code]
    const retryAfterS = code === 'CLUSTER_REFUSED' ? undefined : RETRY_AFTER_S
    throw new DomainError(code, error.message.slice(0, MAX_MESSAGE_LENGTH), {
      cause: error,
      ...(retryAfterS === undefined ? {} : { retryAfterS }),
    })
  }
}
