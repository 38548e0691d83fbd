import { writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { allows, type AccessRule } from './access-rules.ts'
import { type ApiObject, ApiStatus, KINDS, matchesFields, matchesLabels } from './api-objects.ts'
import { type Authority, createAuthority } from './certificates.ts'
import { type FaultAction, FaultScript } from './faults.ts'
import { type Change, ObjectStore } from './object-store.ts'
import { addEvent, live, type PodLife, silenceNode } from './pod-lives.ts'
import { later, sleep } from '../waiting.ts'

export const NAMESPACE = 'notebooks'
export const ACCOUNT_TOKEN = 'test-account-token'

/** One request that the server was asked. */
export interface ApiCall {
  readonly verb: string
  readonly resource: string
  readonly name: string | undefined
}

export interface FakeKubernetesOptions {
  /** What the account of the service may do in the namespace. */
  readonly rules: readonly AccessRule[]
  /** Called when a pod's container begins to run; the pod is ready once this is done. */
  readonly onPodRunning?: (pod: ApiObject) => Promise<void>
  /** Ephemeral storage (GiB) of the one node; default: without bounds. */
  readonly nodeStorageGi?: number
  /** Between the steps of a pod's life; default 10 ms. */
  readonly stepMs?: number
  /** Where to listen; default: any free port. */
  readonly port?: number
  /** Default: one of its own. */
  readonly authority?: Authority
}

/** A Kubernetes API server for one namespace, on loopback over TLS, which can misbehave on command. */
export interface FakeKubernetes {
  readonly url: string
  readonly port: number
  readonly authority: Authority
  readonly store: ObjectStore
  readonly faults: FaultScript
  readonly calls: readonly ApiCall[]
  /** The most calls, apart from watches, that the server was answering at one time. */
  mostAtOnce(): number
  /** What becomes of pods that are made from now on. */
  life: PodLife
  rules: readonly AccessRule[]
  /** How many watches are open. */
  watches(): number
  /** Ends all open watches as a restarted server would. */
  cutWatches(): void
  pod(name: string): ApiObject | undefined
  names(resource: string): string[]
  /** The node of a pod answers no more, or again, as the node controller tells it. */
  silenceNode(name: string, isSilent?: boolean): void
  addEvent(pod: ApiObject, event: { type: string; reason: string; message: string }): void
  /** A kubeconfig for this server, with the account's token unless told otherwise. */
  kubeconfig(user?: object): string
  writeKubeconfig(file: string, user?: object): Promise<string>
  close(): Promise<void>
}

/** Starts a {@link FakeKubernetes}. */
export async function startFakeKubernetes(options: FakeKubernetesOptions): Promise<FakeKubernetes> {
  const authority = options.authority ?? createAuthority()
  const { key, certificate: cert } = authority.issueServer()
  const store = new ObjectStore()
  const calls: ApiCall[] = []
  const load = { now: 0, most: 0 }
  const watches = new Set<ServerResponse>()
  const server = createServer(
    { key, cert, ca: authority.certificate, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const context: RequestContext = { fake, calls, load, watches, request, response }
      answer(context).catch((error: unknown) => sendError(response, error))
    },
  )
  const sockets = new Set<Socket>()
  let closing = false
  server.on('connection', (socket: Socket) => {
    if (closing) return void socket.destroy() // a handshake that was under way would hold the server open
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const fake: FakeKubernetes = {
    url: `https://127.0.0.1:${port}`,
    port,
    authority,
    store,
    faults: new FaultScript(),
    calls,
    mostAtOnce: () => load.most,
    life: 'runs',
    rules: options.rules,
    watches: () => watches.size,
    cutWatches() {
      for (const watch of watches) watch.socket?.destroy()
    },
    pod: (name) => store.get('pods', NAMESPACE, name),
    names: (resource) => store.list(resource, NAMESPACE).map(({ metadata }) => metadata.name),
    silenceNode: (name, isSilent = true) => silenceNode(store, store.get('pods', NAMESPACE, name), isSilent),
    addEvent: (pod, event) => addEvent(store, pod, event),
    kubeconfig: (user = { token: ACCOUNT_TOKEN }) => kubeconfig(fake, user),
    async writeKubeconfig(file, user) {
      await writeFile(file, fake.kubeconfig(user), { mode: 0o600 })
      return file
    },
    close: () =>
      new Promise((resolve) => {
        closing = true
        store.close()
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
        server.closeAllConnections()
      }),
  }
  store.onChange(({ type, resource, object }) => {
    if (type !== 'ADDED' || resource !== 'pods') return
    live(object, fake.life, { store, ...options, stepMs: options.stepMs ?? 10 })
  })
  return fake
}

const ENDING: ReadonlySet<string> = new Set(['watch-expired', 'watch-end', 'watch-half-line', 'watch-bookmark'])

interface RequestContext {
  readonly fake: FakeKubernetes
  readonly calls: ApiCall[]
  readonly load: { now: number; most: number }
  readonly watches: Set<ServerResponse>
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface Target {
  readonly verb: string
  readonly resource: string
  readonly namespace: string
  readonly name: string | undefined
  readonly query: URLSearchParams
}

async function answer(context: RequestContext): Promise<void> {
  const target = targetOf(context.request)
  if (target.verb === 'watch') return answerTo(target, context)
  const { load } = context
  load.now += 1
  load.most = Math.max(load.most, load.now)
  await answerTo(target, context).finally(() => (load.now -= 1))
}

async function answerTo(target: Target, context: RequestContext): Promise<void> {
  const { fake, request, response, calls } = context
  const body = await readBody(request)
  calls.push({ verb: target.verb, resource: target.resource, name: target.name })
  const fault = fake.faults.take(target.verb, target.resource, target.name ?? body?.metadata?.name)
  if (await misbehavedBefore(fault, response)) return
  refuseUnknown(request)
  if (target.verb === 'watch') return watch(context, target, fault)
  const result = perform(fake, target, body)
  if (fault === 'reset-after') return void request.socket.destroy()
  if (typeof fault === 'object' && 'statusAfter' in fault) throw new ApiStatus(fault.statusAfter, 'InternalError', '')
  send(response, target.verb === 'create' ? 201 : 200, result)
}

/** Whether the request is dealt with by the fault alone. */
async function misbehavedBefore(fault: FaultAction | undefined, response: ServerResponse): Promise<boolean> {
  if (fault === undefined) return false
  if (fault === 'hang') return true
  if (fault === 'reset') {
    response.socket?.destroy()
    return true
  }
  if (fault === 'garbage' || fault === 'nonsense') {
    const text = fault === 'garbage' ? '<html>Bad gateway</html>' : '{"kind":"Surprise"}'
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(text)
    return true
  }
  if (typeof fault !== 'object') return false
  if ('delayMs' in fault) await sleep(fault.delayMs)
  if (!('status' in fault)) return false
  if (fault.text !== undefined) {
    response.writeHead(fault.status, { 'Content-Type': 'text/plain' }).end(fault.text)
    return true
  }
  throw new ApiStatus(fault.status, fault.reason ?? 'InternalError', fault.message ?? 'told to fail')
}

function targetOf(request: IncomingMessage): Target {
  const url = new URL(request.url ?? '/', 'https://host')
  const query = url.searchParams
  const at = /^\/api\/v1\/namespaces\/([^/]+)\/([a-z]+)(?:\/([^/]+))?$/.exec(url.pathname)
  const method = request.method ?? ''
  if (!at) {
    const resource = url.pathname.split('/').at(-1) ?? ''
    return { verb: method === 'GET' ? 'get' : 'create', resource, namespace: '', name: undefined, query }
  }
  const [, namespace = '', resource = '', name] = at
  const reading = name === undefined ? (query.get('watch') === 'true' ? 'watch' : 'list') : 'get'
  const verbs: Record<string, string> = {
    GET: reading,
    POST: 'create',
    DELETE: 'delete',
    PUT: 'update',
    PATCH: 'patch',
  }
  return { verb: verbs[method] ?? method, resource, namespace, name: name && decodeURIComponent(name), query }
}

function refuseUnknown(request: IncomingMessage): void {
  const socket = request.socket as TLSSocket
  if (request.headers.authorization === `Bearer ${ACCOUNT_TOKEN}`) return
  if (request.headers.authorization === undefined && socket.authorized) return
  throw new ApiStatus(401, 'Unauthorized', 'Unauthorized')
}

function perform(fake: FakeKubernetes, target: Target, body: ApiObject | undefined): object {
  const { verb, resource, namespace, name } = target
  if (resource === 'version') return { major: '1', minor: '33', gitVersion: 'v1.33.0-fake' }
  if (resource === 'selfsubjectaccessreviews') return review(fake, body)
  refuseForbidden(fake, target)
  const { store } = fake
  switch (verb) {
    case 'create':
      if (!body) throw new ApiStatus(400, 'BadRequest', 'the body is no object')
      return store.create(resource, namespace, body)
    case 'get': {
      const found = store.get(resource, namespace, name ?? '')
      if (found) return found
      throw new ApiStatus(404, 'NotFound', `${resource} "${name}" not found`)
    }
    case 'list': {
      const items = store.list(resource, namespace).filter((object) => isSelected(object, target))
      return {
        kind: `${KINDS[resource]}List`,
        apiVersion: 'v1',
        metadata: { resourceVersion: String(store.version) },
        items,
      }
    }
    case 'delete':
      return store.delete(resource, namespace, name ?? '', {
        uid: body?.['preconditions']?.uid,
        graceSeconds: body?.['gracePeriodSeconds'],
      })
    default:
      throw new ApiStatus(405, 'MethodNotAllowed', `${verb} is not supported`)
  }
}

function refuseForbidden(fake: FakeKubernetes, { verb, resource, namespace, name }: Target): void {
  if (KINDS[resource] === undefined) throw new ApiStatus(404, 'NotFound', 'the server could not find the resource')
  if (namespace === NAMESPACE && allows(fake.rules, verb, resource, name)) return
  const who = 'User "system:serviceaccount:lockhouse:lockhouse"'
  const what = `cannot ${verb} resource "${resource}" in API group "" in the namespace "${namespace}"`
  throw new ApiStatus(403, 'Forbidden', `${resource} is forbidden: ${who} ${what}`)
}

function review(fake: FakeKubernetes, body: ApiObject | undefined): object {
  const { namespace, verb, resource } = body?.['spec']?.resourceAttributes ?? {}
  const allowed = namespace === NAMESPACE && allows(fake.rules, verb, resource)
  return { ...body, kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', status: { allowed } }
}

function isSelected(object: ApiObject, { query }: Target): boolean {
  return matchesLabels(object, query.get('labelSelector')) && matchesFields(object, query.get('fieldSelector'))
}

function watch({ fake, response, watches }: RequestContext, target: Target, fault: FaultAction | undefined): void {
  refuseForbidden(fake, target)
  const since = Number(target.query.get('resourceVersion') ?? fake.store.version)
  const past = fake.store.changesSince(since)
  response.writeHead(200, { 'Content-Type': 'application/json' })
  response.flushHeaders()
  watches.add(response)
  const write = (type: string, object: object): void => void response.write(`${JSON.stringify({ type, object })}\n`)
  const tell = ({ type, resource, object }: Change): void => {
    if (resource === target.resource && isSelected(object, target)) write(type, object)
  }
  if (fault === 'watch-expired') write('ERROR', new ApiStatus(410, 'Expired', 'too old resource version').toJson())
  if (fault === 'watch-unknown-event') write('SURPRISE', { metadata: {} })
  if (fault === 'watch-half-line') response.write('{"type":"ADDED","object":{"metada')
  const bookmark = (): void => {
    write('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: String(fake.store.version) } })
  }
  if (fault === 'watch-bookmark') bookmark()
  if (typeof fault === 'string' && ENDING.has(fault)) {
    watches.delete(response)
    return void response.end()
  }
  if (fault !== 'watch-silent') past.forEach(tell)
  const stop = fault === 'watch-silent' ? () => false : fake.store.onChange(tell)
  const seconds = Number(target.query.get('timeoutSeconds') ?? 300)
  const cancel = later(seconds * 1000, () => {
    stop()
    bookmark()
    response.end()
  })
  response.on('close', () => {
    cancel()
    watches.delete(response)
    stop()
  })
}

async function readBody(request: IncomingMessage): Promise<ApiObject | undefined> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? undefined : (JSON.parse(text) as ApiObject)
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const status = error instanceof ApiStatus ? error : new ApiStatus(500, 'InternalError', String(error))
  for (const [name, value] of Object.entries(status.headers)) response.setHeader(name, value)
  send(response, status.status, status.toJson())
}

function kubeconfig({ url, authority }: FakeKubernetes, user: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      {
        name: 'test',
        cluster: {
          server: url,
          'certificate-authority-data': Buffer.from(authority.certificate).toString('base64'),
        },
      },
    ],
    users: [{ name: 'account', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'account', namespace: NAMESPACE } }],
  })
}
