import type { RequestContext } from '../../domain/audit.ts'
import { DomainError, noCluster } from '../../domain/errors.ts'
import { canHaveNotebook } from '../../notebooks/path.ts'
import type { NotebookTargets } from '../../notebooks/target.ts'
import type { TargetFinder } from '../../notebooks/targets.ts'
import type { NotebookStatus, StartNotebookRequest } from '../../schemas/notebooks.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import { type NotebookDeps, withCluster } from './deps.ts'
import { removeNotebook, waitUntilGone } from './removal.ts'
import { findPod, requireOwn, startNotebook } from './start.ts'
import type { Touches } from './touches.ts'
import { notebookStatus } from './view.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

export interface NotebookServiceDeps extends NotebookDeps {
  readonly targets: TargetFinder
  readonly touches: Touches
  /** Serializes changes of one user's notebook. */
  readonly lock: KeyedLock
}

/** Starts, stops and shows the caller's own notebook (docs/api.md#notebooks). */
export interface NotebookService extends NotebookTargets {
  /** Whether a cluster for notebooks is configured; without one the notebook routes do not exist. */
  available(): boolean
  /**
   * Makes sure that the caller has a notebook; it may be pending for a while. Throws `INVALID_REQUEST` for an image
   * that is not allowed, `UNPROCESSABLE` for a user name that cannot have one, and `CLUSTER_*`.
   */
  start(request: StartNotebookRequest, context: RequestContext): Promise<NotebookStatus>
  /** Resolves when the caller has no notebook, also when there was none. Throws `CLUSTER_*`. */
  stop(context: RequestContext): Promise<void>
  /** Queries the cluster each time. Throws `CLUSTER_*`. */
  status(context: RequestContext): Promise<NotebookStatus>
}

/** Notebooks on a cluster, recorded in the state. */
export function createNotebookService(deps: NotebookServiceDeps): NotebookService {
  const starting = new Map<string, Promise<NotebookStatus>>()
  const exclusively = <T>(user: string, work: () => Promise<T>): Promise<T> =>
    deps.lock.run(user, new AbortController().signal, () => withCluster(deps.log, work))
  const start = (image: string, context: RequestContext): Promise<NotebookStatus> =>
    exclusively(context.caller.user, async () => {
      await startNotebook(deps, image, context)
      return notebookStatus(deps, context.caller.user)
    })
  return {
    available: () => deps.gate.available(),
    async start(request, context) {
      const { user } = context.caller
      requireAvailable(deps)
      requireName(user)
      const image = allowedImage(deps, request.image)
      // Requests during a start share its result: fifty clicks are one start.
      const under = starting.get(user)
      if (under) return under
      const run = start(image, context).finally(() => starting.delete(user))
      starting.set(user, run)
      return run
    },
    async stop(context) {
      const { user } = context.caller
      requireAvailable(deps)
      await exclusively(user, async () => {
        const pod = await findPod(deps, user)
        if (pod === undefined) return
        requireOwn(pod, user)
        await removeNotebook(deps, { user, pod, why: 'asked', context })
        await waitUntilGone(deps, pod)
      })
    },
    async status({ caller }) {
      requireAvailable(deps)
      requireName(caller.user)
      return withCluster(deps.log, () => notebookStatus(deps, caller.user))
    },
    targetOf: (user) => withCluster(deps.log, () => deps.targets.find(user)),
    touched: (user) => deps.touches.touch(user),
  }
}

function requireAvailable({ gate }: NotebookDeps): void {
  if (!gate.available()) throw noCluster()
}

function requireName(user: string): void {
  if (!canHaveNotebook(user)) throw new DomainError('UNPROCESSABLE', 'a user with this name cannot have a notebook')
}

function allowedImage({ settings: { images } }: NotebookDeps, asked: string | undefined): string {
  const image = asked === undefined ? images[0] : images.find((one) => one === asked)
  if (image !== undefined) return image
  const message = `must be one of ${images.join(', ')}`
  throw fieldRefusal('INVALID_REQUEST', [{ path: 'image', message }])
}
