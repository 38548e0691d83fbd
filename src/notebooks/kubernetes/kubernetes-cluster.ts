import type { AuthorizationV1Api, CoreV1Api, CoreV1Event, KubeConfig, VersionApi } from '@kubernetes/client-node'
import { ClusterError, isClusterError } from '../cluster-error.ts'
import { type ClusterPod, readPod, time } from '../cluster-pod.ts'
import type { NotebookCluster, PodEvent } from '../cluster.ts'
import { NOTEBOOK_SELECTOR } from '../spec.ts'
import { type KubernetesAccess, type KubernetesLibrary, readAccess } from './kubernetes-access.ts'
import { createCallQueue } from './call-queue.ts'
import { type RunPlugin, replacePlugins } from './exec-credential.ts'
import { statusOf, toClusterError } from './kubernetes-errors.ts'
import { watchPods } from './watch-pods.ts'
import { sleep } from '../../lib/sleep.ts'

export interface KubernetesOptions {
  readonly access: KubernetesAccess
  /** Undefined: the namespace of the access configuration, else `default`. */
  readonly namespace: string | undefined
  /** Time limit of one attempt of a call; default 3 s. */
  readonly attemptMs?: number
  /** Runs the credential plugin of a kubeconfig. */
  readonly runPlugin: RunPlugin
}

const ATTEMPT_MS = 3000

/** A start takes about 14 calls: with more at once, 200 starts exceeded the time limit, and their retries multiplied. */
const MAX_CALLS_AT_ONCE = 16
const MAX_WAITING_CALLS = 5000

/** Delays (ms) before a failed call is retried. */
const RETRY_DELAYS_MS = [100, 500]

/** Makes a call and retries it when the cluster is unavailable or too slow: all calls here are safe to repeat. */
type Call = <T>(attempt: () => Promise<T>, delaysMs?: readonly number[]) => Promise<T>

interface Clients {
  readonly config: KubeConfig
  readonly call: Call
  readonly core: CoreV1Api
  readonly authorization: AuthorizationV1Api
  readonly version: VersionApi
}

/** Notebooks on a Kubernetes cluster. Throws `ClusterError` when the access cannot be read. */
export async function connectKubernetes(options: KubernetesOptions): Promise<NotebookCluster> {
  const library = await import('@kubernetes/client-node')
  const config = readAccess(library, options.access)
  replacePlugins(config, options.runPlugin)
  const clients = makeClients(library, config, options.attemptMs ?? ATTEMPT_MS)
  const namespace = options.namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default'
  return { namespace, ...readCalls(clients, namespace), ...writeCalls(clients, namespace) }
}

function makeClients(library: KubernetesLibrary, config: KubeConfig, attemptMs: number): Clients {
  const server = new library.ServerConfiguration(config.getCurrentCluster()?.server ?? '', {})
  const configuration = library.createConfiguration({
    baseServer: server,
    authMethods: { default: config },
    promiseMiddleware: [
      {
        async pre(request) {
          request.setSignal(AbortSignal.timeout(attemptMs))
          return request
        },
        post: async (response) => response,
      },
    ],
  })
  const inTurn = createCallQueue(MAX_CALLS_AT_ONCE, MAX_WAITING_CALLS)
  return {
    config,
    // The time limit begins when the call's turn comes.
    call: (attempt, delaysMs = RETRY_DELAYS_MS) =>
      callWithRetries(() => inTurn(() => within(attemptMs, attempt)), delaysMs),
    core: new library.CoreV1Api(configuration),
    authorization: new library.AuthorizationV1Api(configuration),
    version: new library.VersionApi(configuration),
  }
}

type ReadCalls = Pick<
  NotebookCluster,
  'version' | 'mayI' | 'getPod' | 'listPods' | 'watchPods' | 'readSecret' | 'podEvents'
>

function readCalls({ config, call, core, authorization, version }: Clients, namespace: string): ReadCalls {
  return {
    version: async () => (await call(() => version.getCode())).gitVersion,
    async mayI({ resource, verb }) {
      const review = { spec: { resourceAttributes: { namespace, resource, verb, version: 'v1' } } }
      const { status } = await call(() => authorization.createSelfSubjectAccessReview({ body: review }))
      return status?.allowed ?? false
    },
    async getPod(name) {
      const pod = await call(() => unlessMissing(core.readNamespacedPod({ name, namespace })))
      return pod && readPod(pod)
    },
    async listPods() {
      const { items, metadata } = await call(() =>
        core.listNamespacedPod({ namespace, labelSelector: NOTEBOOK_SELECTOR }),
      )
      return { pods: items.flatMap((item) => readPod(item) ?? []), version: metadata?.resourceVersion ?? '' }
    },
    watchPods: (from, onChange, signal) => watchPods({ config, namespace, from, onChange, signal }),
    async readSecret(name) {
      const secret = await call(() => unlessMissing(core.readNamespacedSecret({ name, namespace })))
      return secret && Object.fromEntries(Object.entries(secret.data ?? {}).map(([key, data]) => [key, decode(data)]))
    },
    async podEvents(name) {
      const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${name}`
      // Events only add explanations, so there is no retry.
      const { items } = await call(() => core.listNamespacedEvent({ namespace, fieldSelector, limit: 500 }), [])
      return items.map(readEvent).sort((a, b) => (a.at ?? '').localeCompare(b.at ?? ''))
    },
  }
}

type WriteCalls = Omit<NotebookCluster, keyof ReadCalls | 'namespace'>

function writeCalls({ call, core }: Clients, namespace: string): WriteCalls {
  return {
    createPod: async (body) => created(await call(() => core.createNamespacedPod({ namespace, body }))),
    async deletePod(name, uid, how) {
      const body = { preconditions: { uid }, ...(how?.force === true ? { gracePeriodSeconds: 0 } : {}) }
      await call(() => unlessMissing(unlessReplaced(core.deleteNamespacedPod({ name, namespace, body }))))
    },
    createSecret: async (body) => void (await call(() => core.createNamespacedSecret({ namespace, body }))),
    ensureService: (body) =>
      ensure(call, {
        read: () => core.readNamespacedService({ name: nameOf(body), namespace }),
        create: () => core.createNamespacedService({ namespace, body }),
      }),
    ensureConfigMap: (body) =>
      ensure(call, {
        read: () => core.readNamespacedConfigMap({ name: nameOf(body), namespace }),
        create: () => core.createNamespacedConfigMap({ namespace, body }),
      }),
    ensureVolumeClaim: (body) =>
      ensure(call, {
        read: () => core.readNamespacedPersistentVolumeClaim({ name: nameOf(body), namespace }),
        create: () => core.createNamespacedPersistentVolumeClaim({ namespace, body }),
      }),
    deleteService: async (name) =>
      void (await call(() => unlessMissing(core.deleteNamespacedService({ name, namespace })))),
    deleteSecret: async (name) =>
      void (await call(() => unlessMissing(core.deleteNamespacedSecret({ name, namespace })))),
    deleteConfigMap: async (name) =>
      void (await call(() => unlessMissing(core.deleteNamespacedConfigMap({ name, namespace })))),
  }
}

interface Ensured {
  readonly read: () => Promise<unknown>
  readonly create: () => Promise<unknown>
}

async function ensure(call: Call, { read, create }: Ensured): Promise<void> {
  if ((await call(() => unlessMissing(read()))) !== undefined) return
  try {
    await call(create)
  } catch (error) {
    if (!isClusterError(error, 'exists')) throw error // another replica created it, or an earlier answer was lost
  }
}

function nameOf({ metadata }: { readonly metadata?: { readonly name?: string } }): string {
  return metadata?.name ?? ''
}

/** Makes a call and retries it after each of the given delays (ms). */
async function callWithRetries<T>(attempt: () => Promise<T>, [delayMs, ...later]: readonly number[]): Promise<T> {
  try {
    return await attempt()
  } catch (error) {
    const failure = toClusterError(error)
    const isTransient = failure.code === 'unavailable' || failure.code === 'timeout'
    if (delayMs === undefined || !isTransient || statusOf(error) === 401) throw failure
    await sleep(delayMs)
    return callWithRetries(attempt, later)
  }
}

/** Time limit that includes getting credentials, which the client's own limit does not. */
async function within<T>(ms: number, attempt: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new ClusterError('timeout', 'the cluster did not respond in time')), ms)
  try {
    return await Promise.race([attempt(), late])
  } finally {
    clearTimeout(timer)
  }
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (statusOf(error) === 404) return undefined
    throw error
  })
}

/**
 * Ignores a failed precondition of a deletion: the object is already deleted, and another one has its name. Every other
 * conflict passes, and the call is retried.
 */
async function unlessReplaced<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (statusOf(error) === 409 && /precondition/i.test(toClusterError(error).message)) return undefined
    throw error
  })
}

function created(answer: unknown): ClusterPod {
  const pod = readPod(answer)
  if (!pod) throw new ClusterError('unavailable', 'the response of the cluster is not a valid pod')
  return pod
}

function decode(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)))
}

function readEvent(event: CoreV1Event): PodEvent {
  return {
    podUid: event.involvedObject.uid ?? '',
    warning: event.type === 'Warning',
    reason: event.reason ?? '',
    message: event.message ?? '',
    at: time(event, 'lastTimestamp') ?? time(event, 'eventTime') ?? time(event, 'firstTimestamp'),
  }
}
