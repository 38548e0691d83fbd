import type { AuthorizationV1Api, CoreV1Api, CoreV1Event, KubeConfig, VersionApi } from '@kubernetes/client-node'
import { ClusterError, isClusterError } from '../cluster-error.ts'
import { type ClusterPod, readPod, time } from '../cluster-pod.ts'
import type { NotebookCluster, PodEvent } from '../notebook-cluster.ts'
import { NOTEBOOK_SELECTOR } from '../notebook-spec.ts'
import { type KubernetesAccess, type KubernetesLibrary, readAccess } from './kubernetes-access.ts'
import { type RunPlugin, takeOverPlugins } from './exec-credential.ts'
import { statusOf, toClusterError } from './kubernetes-errors.ts'
import { watchPods } from './watch-pods.ts'

export interface KubernetesOptions {
  readonly access: KubernetesAccess
  /** Undefined: the one that the access names, else `default`. */
  readonly namespace: string | undefined
  /** For how long one attempt of a call may take; default 3 s. */
  readonly attemptMs?: number
  /** Runs the credential plugin that a kubeconfig may name. */
  readonly runPlugin: RunPlugin
}

const ATTEMPT_MS = 3000

/** After these times (ms) a call that the cluster could not answer is tried again. */
const RETRY_DELAYS_MS = [100, 500]

/** Calls, and calls again when the cluster could not answer: every call here may be repeated. */
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
  takeOverPlugins(config, options.runPlugin)
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
  return {
    config,
    call: (attempt, delaysMs = RETRY_DELAYS_MS) => callAgain(() => within(attemptMs, attempt), delaysMs),
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
      // They only explain: nobody waits for a second attempt.
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
      await call(() => unlessMissing(unlessConflict(core.deleteNamespacedPod({ name, namespace, body }))))
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
    if (!isClusterError(error, 'exists')) throw error // another replica was faster, or an answer was lost
  }
}

function nameOf({ metadata }: { readonly metadata?: { readonly name?: string } }): string {
  return metadata?.name ?? ''
}

/** One attempt after the other, with a pause of each of the given lengths (ms) before the next. */
async function callAgain<T>(attempt: () => Promise<T>, [delayMs, ...later]: readonly number[]): Promise<T> {
  try {
    return await attempt()
  } catch (error) {
    const failure = toClusterError(error)
    const mayPass = failure.code === 'unavailable' || failure.code === 'timeout'
    if (delayMs === undefined || !mayPass || statusOf(error) === 401) throw failure
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    return callAgain(attempt, later)
  }
}

/** The client's own time limit begins only after it has got its credentials; this one covers both. */
async function within<T>(ms: number, attempt: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new ClusterError('timeout', 'the cluster does not answer in time')), ms)
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

/** A deletion whose precondition fails: another object has the name now, and the one that was meant is gone. */
async function unlessConflict<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (statusOf(error) === 409) return undefined
    throw error
  })
}

function created(answer: unknown): ClusterPod {
  const pod = readPod(answer)
  if (!pod) throw new ClusterError('unavailable', 'the cluster answers with something that is no pod')
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
