import { randomUUID } from 'node:crypto'
import { type ApiObject, ApiStatus, KINDS } from './api-objects.ts'
import { refuseInvalid } from './validation.ts'
import { later } from '../waiting.ts'

/** A change as a watch tells it. */
export interface Change {
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: string
  /** The object as it was then. */
  readonly object: ApiObject
}

export interface StoreOptions {
  /** How many objects of a resource each namespace may have (`ResourceQuota`, object counts). */
  quota: Readonly<Record<string, number>>
  /** What the namespaces refuse: more pods than this in each (`ResourceQuota`). */
  maxPods: number
  /** How long a pod takes to end once it is deleted, in ms. */
  terminationMs: number
}

export interface DeleteOptions {
  /** Only the object with this uid. */
  readonly uid?: string | undefined
  /** 0: a pod goes without its node being asked. */
  readonly graceSeconds?: number | undefined
}

/** The objects of a cluster: names, versions, owners, and everything that changed. */
export class ObjectStore {
  readonly options: StoreOptions = { quota: {}, maxPods: 1000, terminationMs: 20 }
  /** Pods whose node does not answer: nobody ends them there. */
  readonly silent = new Set<string>()
  /** What admission has charged for objects that were then not made, by resource. */
  readonly #overcharged = new Map<string, number>()
  readonly #objects = new Map<string, ApiObject>()
  readonly #history: Change[] = []
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #timers = new Set<() => void>()
  #version = 100
  /** Changes up to this version are forgotten: who watches from there gets 410. */
  #forgotten = 0

  get version(): number {
    return this.#version
  }

  create(resource: string, namespace: string, body: ApiObject): ApiObject {
    refuseInvalid(resource, body)
    const { name } = body.metadata
    const key = keyOf(resource, namespace, name)
    this.#charge(resource, namespace, name)
    if (this.#objects.has(key)) this.#overcharged.set(resource, (this.#overcharged.get(resource) ?? 0) + 1)
    if (this.#objects.has(key)) throw new ApiStatus(409, 'AlreadyExists', `${resource} "${name}" already exists`)
    const pods = this.list('pods', namespace).length
    if (resource === 'pods' && pods >= this.options.maxPods) {
      const used = `requested: pods=1, used: pods=${pods}, limited: pods=${this.options.maxPods}`
      throw new ApiStatus(403, 'Forbidden', `pods "${name}" is forbidden: exceeded quota: notebooks, ${used}`)
    }
    const object: ApiObject = {
      ...structuredClone(body),
      apiVersion: 'v1',
      kind: KINDS[resource] ?? '',
      metadata: {
        ...structuredClone(body.metadata),
        namespace,
        uid: randomUUID(),
        resourceVersion: '',
        creationTimestamp: seconds(new Date()),
      },
    }
    if (resource === 'secrets') encodeSecret(object)
    if (resource === 'pods') object['status'] = { phase: 'Pending' }
    if (resource === 'pods') defaultRequests(object)
    this.#put('ADDED', resource, object)
    this.#collectIfOrphan(resource, object)
    return structuredClone(object)
  }

  get(resource: string, namespace: string, name: string): ApiObject | undefined {
    const object = this.#objects.get(keyOf(resource, namespace, name))
    return object && structuredClone(object)
  }

  list(resource: string, namespace: string): ApiObject[] {
    const prefix = keyOf(resource, namespace, '')
    return [...this.#objects].flatMap(([key, object]) => (key.startsWith(prefix) ? [structuredClone(object)] : []))
  }

  /** Changes an object where it stands; nothing happens when it is gone. */
  update(resource: string, namespace: string, name: string, change: (object: ApiObject) => void): void {
    const object = this.#objects.get(keyOf(resource, namespace, name))
    if (!object) return
    const next = structuredClone(object)
    change(next)
    this.#put('MODIFIED', resource, next)
  }

  /** Deletes as a client asks: a pod ends first, everything else goes at once. */
  delete(resource: string, namespace: string, name: string, options: DeleteOptions = {}): ApiObject {
    const { uid, graceSeconds } = options
    const object = this.#objects.get(keyOf(resource, namespace, name))
    if (!object) throw new ApiStatus(404, 'NotFound', `${resource} "${name}" not found`)
    if (uid !== undefined && uid !== object.metadata.uid) {
      const why = `the UID in the precondition (${uid}) does not match the UID in record (${object.metadata.uid})`
      throw new ApiStatus(409, 'Conflict', `Operation cannot be fulfilled on ${resource} "${name}": ${why}`)
    }
    if (resource !== 'pods' || graceSeconds === 0) return this.remove(resource, namespace, name) ?? object
    if (object.metadata.deletionTimestamp === undefined) {
      this.update(resource, namespace, name, (pod) => (pod.metadata.deletionTimestamp = seconds(new Date())))
      this.later(this.options.terminationMs, () => {
        const isSame = this.get('pods', namespace, name)?.metadata.uid === object.metadata.uid
        if (isSame && !this.silent.has(object.metadata.uid)) this.remove(resource, namespace, name)
      })
    }
    return structuredClone(object)
  }

  /** Takes an object away at once, and later what it owns. */
  remove(resource: string, namespace: string, name: string): ApiObject | undefined {
    const key = keyOf(resource, namespace, name)
    const object = this.#objects.get(key)
    if (!object) return undefined
    this.#objects.delete(key)
    this.#record('DELETED', resource, object)
    this.later(5, () => this.#collect(object.metadata.uid))
    return structuredClone(object)
  }

  /** Counts anew what the quota has charged, as the quota controller does every few minutes. */
  resyncQuota(): void {
    this.#overcharged.clear()
  }

  /** Admission: the quota is charged before anybody knows whether the name is taken. */
  #charge(resource: string, namespace: string, name: string): void {
    const hard = this.options.quota[resource]
    const used = this.list(resource, namespace).length + (this.#overcharged.get(resource) ?? 0)
    if (hard === undefined || used < hard) return
    const counts = `requested: ${resource}=1, used: ${resource}=${used}, limited: ${resource}=${hard}`
    throw new ApiStatus(403, 'Forbidden', `${resource} "${name}" is forbidden: exceeded quota: notebooks, ${counts}`)
  }

  /** Every change after a version; throws 410 when some of them are forgotten. */
  changesSince(version: number): readonly Change[] {
    if (version < this.#forgotten) {
      throw new ApiStatus(410, 'Expired', `too old resource version: ${version} (${this.#forgotten})`)
    }
    return this.#history.filter((change) => change.version > version)
  }

  /** Forgets all changes so far. */
  compact(): void {
    this.#forgotten = ++this.#version
    this.#history.length = 0
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  later(ms: number, work: () => void): void {
    const cancel = later(ms, () => {
      this.#timers.delete(cancel)
      work()
    })
    this.#timers.add(cancel)
  }

  close(): void {
    for (const cancel of this.#timers) cancel()
    this.#listeners.clear()
  }

  #put(type: 'ADDED' | 'MODIFIED', resource: string, object: ApiObject): void {
    const { namespace, name } = object.metadata
    this.#objects.set(keyOf(resource, namespace, name), object)
    this.#record(type, resource, object)
  }

  #record(type: Change['type'], resource: string, object: ApiObject): void {
    object.metadata.resourceVersion = String(++this.#version)
    const change = { version: this.#version, type, resource, object: structuredClone(object) }
    this.#history.push(change)
    for (const listener of this.#listeners) listener(change)
  }

  /** The garbage collector: what names a missing owner goes. */
  #collect(ownerUid: string): void {
    for (const [key, object] of this.#objects) {
      const [resource = ''] = key.split('/')
      const isOwned = object.metadata.ownerReferences?.some(({ uid }) => uid === ownerUid)
      if (isOwned) this.remove(resource, object.metadata.namespace, object.metadata.name)
    }
  }

  #collectIfOrphan(resource: string, { metadata }: ApiObject): void {
    const owner = metadata.ownerReferences?.[0]
    if (!owner) return
    const lives = [...this.#objects.values()].some((object) => object.metadata.uid === owner.uid)
    if (!lives) this.later(5, () => this.remove(resource, metadata.namespace, metadata.name))
  }
}

function keyOf(resource: string, namespace: string, name: string): string {
  return `${resource}/${namespace}/${name}`
}

/** As the API server writes times: without fractions. */
export function seconds(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

/** As the API server does: a limit without a request is the request. */
function defaultRequests(pod: ApiObject): void {
  const { containers = [], initContainers = [] } = pod['spec']
  for (const { resources } of [...containers, ...initContainers]) {
    if (resources?.limits) resources.requests = { ...resources.limits, ...resources.requests }
  }
}

function encodeSecret(secret: ApiObject): void {
  const { stringData = {}, data = {} } = secret
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')])
  secret['data'] = { ...data, ...Object.fromEntries(encoded) }
  delete secret['stringData']
}
