import { type ApiObject } from './api-objects.ts'
import { type ObjectStore, seconds } from './object-store.ts'

/** What happens to a pod after it is made, as scheduler and kubelet would report it. */
export type PodLife =
  | 'runs'
  | 'unscheduled'
  | 'volume-unbound'
  | 'creating'
  | 'image-pull'
  | 'invalid-image'
  | 'never-starts'
  | 'crash-loop'
  | 'crash-loop-oom'
  | 'fails'
  | 'init-fails'
  | 'evicted'
  | 'ends'
  | 'node-silent'
  | 'restarted-oom'
  | 'unready'
  | 'mount-fails'

export interface LifeOptions {
  readonly store: ObjectStore
  /** Starts the real thing behind a running pod. */
  readonly onPodRunning?: (pod: ApiObject) => Promise<void>
  readonly stepMs: number
  /** Ephemeral storage (GiB) of the one node; undefined: without bounds. */
  readonly nodeStorageGi?: number
}

/** Lets a pod live. Until what it refers to is there it waits, as with a real kubelet. */
export function live(pod: ApiObject, life: PodLife, options: LifeOptions): void {
  const { store, stepMs } = options
  const why = whyUnscheduled(pod, life, options)
  if (why !== undefined) {
    store.later(stepMs, () => unschedule(store, pod, why))
    return
  }
  store.later(stepMs, () => schedule(store, pod))
  let told: string | undefined
  const proceed = (): void => {
    const missing = missingReference(store, pod)
    if (missing === undefined) return void begin(pod, life, options)
    if (missing !== told) {
      setStatus(store, pod, 'Pending', waiting('CreateContainerConfigError', `${missing} not found`))
    }
    told = missing
    if (isThere(store, pod)) store.later(stepMs, proceed)
  }
  store.later(stepMs * 2, proceed)
}

async function begin(pod: ApiObject, life: PodLife, { store, onPodRunning, stepMs }: LifeOptions): Promise<void> {
  const later = (status: () => void): void => store.later(stepMs, status)
  switch (life) {
    case 'creating':
      return setStatus(store, pod, 'Pending', waiting('ContainerCreating', ''))
    case 'mount-fails':
      setStatus(store, pod, 'Pending', waiting('ContainerCreating', ''))
      return addEvent(store, pod, { type: 'Warning', reason: 'FailedMount', message: 'MountVolume.SetUp failed' })
    case 'image-pull':
      setStatus(store, pod, 'Pending', waiting('ErrImagePull', 'rpc error: not found'))
      addEvent(store, pod, { type: 'Warning', reason: 'Failed', message: 'Failed to pull image' })
      return later(() => setStatus(store, pod, 'Pending', waiting('ImagePullBackOff', 'Back-off pulling image "x"')))
    case 'invalid-image':
      return setStatus(store, pod, 'Pending', waiting('InvalidImageName', "couldn't parse image name"))
    case 'init-fails':
      return setStatus(store, pod, 'Pending', {
        initContainerStatuses: [
          {
            name: 'first-notebook',
            ready: false,
            restartCount: 3,
            state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
            lastState: { terminated: { reason: 'Error', exitCode: 1 } },
          },
        ],
      })
    case 'evicted':
      addEvent(store, pod, { type: 'Warning', reason: 'Evicted', message: 'The node was low on resource: memory.' })
      return setStatus(store, pod, 'Failed', { reason: 'Evicted', message: 'The node was low on resource: memory.' })
    case 'node-silent':
      return setStatus(store, pod, 'Unknown', {})
    case 'ends':
      return setStatus(store, pod, 'Succeeded', terminated('Completed', 0))
    case 'fails':
      return setStatus(store, pod, 'Failed', terminated('Error', 1))
    case 'crash-loop':
      return setStatus(store, pod, 'Running', crashed('Error', 2))
    case 'crash-loop-oom':
      return setStatus(store, pod, 'Running', crashed('OOMKilled', 137))
    case 'never-starts':
      return setStatus(store, pod, 'Running', running(false, false))
    case 'unready':
      return setStatus(store, pod, 'Running', running(true, false))
    case 'restarted-oom':
      return setStatus(
        store,
        pod,
        'Running',
        running(true, true, { terminated: { reason: 'OOMKilled', exitCode: 137 } }),
      )
    default:
      setStatus(store, pod, 'Running', running(false, false))
      await onPodRunning?.(pod)
      later(() => setStatus(store, pod, 'Running', running(true, true)))
  }
}

/** A reference of the pod to something that is not there; undefined when all is. */
function missingReference(store: ObjectStore, pod: ApiObject): string | undefined {
  const { namespace } = pod.metadata
  const { volumes = [], containers = [], initContainers = [] } = pod['spec']
  const wanted: [string, string | undefined][] = volumes.flatMap((volume: ApiObject) => [
    ['secrets', volume['secret']?.secretName],
    ['configmaps', volume['configMap']?.name],
    ['persistentvolumeclaims', volume['persistentVolumeClaim']?.claimName],
  ])
  for (const container of [...containers, ...initContainers]) {
    for (const variable of container.env ?? []) wanted.push(['secrets', variable.valueFrom?.secretKeyRef?.name])
  }
  const missing = wanted.find(([resource, name]) => name !== undefined && !store.get(resource, namespace, name))
  return missing && `${missing[0]} "${missing[1]}"`
}

function isThere(store: ObjectStore, { metadata }: ApiObject): boolean {
  return store.get('pods', metadata.namespace, metadata.name)?.metadata.uid === metadata.uid
}

/** Why the scheduler finds no node; undefined: it finds one. */
function whyUnscheduled(pod: ApiObject, life: PodLife, { store, nodeStorageGi }: LifeOptions): string | undefined {
  if (life === 'unscheduled') return '0/3 nodes are available: 3 Insufficient memory.'
  if (life === 'volume-unbound') return '0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.'
  const taken = store.list('pods', pod.metadata.namespace).reduce((sum, one) => sum + storageRequestGi(one), 0)
  if (nodeStorageGi === undefined || taken <= nodeStorageGi) return undefined
  return '0/1 nodes are available: 1 Insufficient ephemeral-storage.'
}

/** What a pod asks of a node: the greater of its init containers' and the sum of its containers'; in GiB. */
function storageRequestGi(pod: ApiObject): number {
  const { containers = [], initContainers = [] } = pod['spec']
  const of = (container: { resources?: { requests?: Record<string, string> } }): number => {
    const [, number = '0', unit] =
      /^(\d+)(Mi|Gi)$/.exec(container.resources?.requests?.['ephemeral-storage'] ?? '') ?? []
    return unit === 'Gi' ? Number(number) : Number(number) / 1024
  }
  const sum = containers.map(of).reduce((a: number, b: number) => a + b, 0)
  return Math.max(sum, ...initContainers.map(of))
}

/** Marks a pod as the node controller does: not ready, with its containers as they were. */
export function silenceNode(store: ObjectStore, pod: ApiObject | undefined, isSilent: boolean): void {
  if (!pod) throw new Error('there is no such pod')
  if (isSilent) store.silent.add(pod.metadata.uid)
  else store.silent.delete(pod.metadata.uid)
  store.update('pods', pod.metadata.namespace, pod.metadata.name, ({ status }) => {
    const others = status.conditions.filter(({ type }: { type: string }) => type !== 'Ready')
    status.conditions = [...others, { type: 'Ready', status: isSilent ? 'False' : 'True' }]
  })
}

function unschedule(store: ObjectStore, pod: ApiObject, message: string): void {
  addEvent(store, pod, { type: 'Warning', reason: 'FailedScheduling', message })
  setStatus(store, pod, 'Pending', {
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
  })
}

function schedule(store: ObjectStore, pod: ApiObject): void {
  addEvent(store, pod, { type: 'Normal', reason: 'Scheduled', message: 'Successfully assigned' })
  setStatus(store, pod, 'Pending', {})
}

function setStatus(store: ObjectStore, pod: ApiObject, phase: string, status: object): void {
  if (!isThere(store, pod)) return
  store.update('pods', pod.metadata.namespace, pod.metadata.name, (object) => {
    const containers: { ready: boolean }[] = (status as { containerStatuses?: [] }).containerStatuses ?? []
    const isReady = containers.length > 0 && containers.every(({ ready }) => ready)
    const conditions = [
      { type: 'PodScheduled', status: 'True' },
      { type: 'Ready', status: isReady ? 'True' : 'False' },
    ]
    object['status'] = { phase, podIP: '127.0.0.1', conditions, ...status }
  })
}

function waiting(reason: string, message: string): object {
  return {
    containerStatuses: [
      { name: 'notebook', ready: false, started: false, restartCount: 0, state: { waiting: { reason, message } } },
    ],
  }
}

function terminated(reason: string, exitCode: number): object {
  const state = { terminated: { reason, exitCode } }
  return { containerStatuses: [{ name: 'notebook', ready: false, started: false, restartCount: 0, state }] }
}

function crashed(reason: string, exitCode: number): object {
  const state = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting failed container' } }
  const lastState = { terminated: { reason, exitCode } }
  return { containerStatuses: [{ name: 'notebook', ready: false, started: false, restartCount: 4, state, lastState }] }
}

function running(started: boolean, ready: boolean, lastState: object = {}): object {
  const state = { running: { startedAt: seconds(new Date()) } }
  const restartCount = 'terminated' in lastState ? 1 : 0
  return { containerStatuses: [{ name: 'notebook', ready, started, restartCount, state, lastState }] }
}

/** Adds what the cluster tells about a pod. */
export function addEvent(
  store: ObjectStore,
  pod: ApiObject,
  event: { readonly type: string; readonly reason: string; readonly message: string },
): void {
  const { namespace, name, uid } = pod.metadata
  store.create('events', namespace, {
    metadata: { name: `${name}.${store.version}` } as ApiObject['metadata'],
    involvedObject: { kind: 'Pod', namespace, name, uid },
    lastTimestamp: seconds(new Date()),
    ...event,
  })
}
