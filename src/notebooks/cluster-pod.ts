/** The fields of a pod that notebooks need; times are RFC 3339. */
export interface ClusterPod {
  readonly name: string
  readonly uid: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly createdAt: string | undefined
  /** Set when it is being deleted. */
  readonly deletedAt: string | undefined
  readonly ip: string | undefined
  /** `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`. */
  readonly phase: string
  /** Why the pod failed, such as `Evicted`. */
  readonly reason: string | undefined
  readonly message: string | undefined
  readonly conditions: readonly PodCondition[]
  /** The init containers, then the notebook itself. */
  readonly containers: readonly PodContainer[]
}

export interface PodCondition {
  readonly type: string
  readonly status: string
  readonly reason: string | undefined
  readonly message: string | undefined
}

export interface PodContainer {
  readonly name: string
  readonly ready: boolean
  /** Whether its startup probe has succeeded. */
  readonly started: boolean
  readonly restarts: number
  readonly waiting: { readonly reason: string; readonly message: string } | undefined
  readonly runningSince: string | undefined
  readonly terminated: PodTermination | undefined
  /** How the container ended before its last restart. */
  readonly lastTerminated: PodTermination | undefined
}

export interface PodTermination {
  /** Such as `OOMKilled`, `Error` or `Completed`. */
  readonly reason: string
  readonly exitCode: number
}

/**
 * Reads a pod from the API: JSON in a watch, with `Date` values where the client has parsed it. Fields that are missing
 * or have another type are undefined; returns undefined for a pod without name or uid.
 */
export function readPod(json: unknown): ClusterPod | undefined {
  const metadata = child(json, 'metadata')
  const status = child(json, 'status')
  const name = text(metadata, 'name')
  const uid = text(metadata, 'uid')
  if (name === undefined || uid === undefined) return undefined
  return {
    name,
    uid,
    labels: texts(child(metadata, 'labels')),
    annotations: texts(child(metadata, 'annotations')),
    createdAt: time(metadata, 'creationTimestamp'),
    deletedAt: time(metadata, 'deletionTimestamp'),
    ip: text(status, 'podIP'),
    phase: text(status, 'phase') ?? 'Pending',
    reason: text(status, 'reason'),
    message: text(status, 'message'),
    conditions: items(status, 'conditions').map(readCondition),
    containers: [...items(status, 'initContainerStatuses'), ...items(status, 'containerStatuses')].map(readContainer),
  }
}

function readCondition(json: unknown): PodCondition {
  return {
    type: text(json, 'type') ?? '',
    status: text(json, 'status') ?? '',
    reason: text(json, 'reason'),
    message: text(json, 'message'),
  }
}

function readContainer(json: unknown): PodContainer {
  const state = child(json, 'state')
  const waiting = child(state, 'waiting')
  return {
    name: text(json, 'name') ?? '',
    ready: child(json, 'ready') === true,
    started: child(json, 'started') === true,
    restarts: number(json, 'restartCount'),
    waiting: isObject(waiting)
      ? { reason: text(waiting, 'reason') ?? '', message: text(waiting, 'message') ?? '' }
      : undefined,
    runningSince: time(child(state, 'running'), 'startedAt'),
    terminated: readTermination(child(state, 'terminated')),
    lastTerminated: readTermination(child(child(json, 'lastState'), 'terminated')),
  }
}

function readTermination(json: unknown): PodTermination | undefined {
  if (!isObject(json)) return undefined
  return { reason: text(json, 'reason') ?? 'Error', exitCode: number(json, 'exitCode') }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function child(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined
}

function text(value: unknown, key: string): string | undefined {
  const found = child(value, key)
  return typeof found === 'string' && found !== '' ? found : undefined
}

function number(value: unknown, key: string): number {
  const found = child(value, key)
  return typeof found === 'number' ? found : 0
}

/** RFC 3339 in UTC with milliseconds; undefined when the field is not a time. */
export function time(value: unknown, key: string): string | undefined {
  const found = child(value, key)
  const date = found instanceof Date ? found : new Date(typeof found === 'string' ? found : Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

function items(value: unknown, key: string): readonly unknown[] {
  const found = child(value, key)
  return Array.isArray(found) ? found : []
}

function texts(value: unknown): Record<string, string> {
  if (!isObject(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
