import type { RequestContext } from '../../domain/audit.ts'
import { ClusterError, isClusterError } from '../../notebooks/cluster-error.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { FIRST_NOTEBOOK_CONTENT } from '../../notebooks/first-notebook.ts'
import { lakeSecretName, sessionName } from '../../notebooks/notebook-names.ts'
import {
  firstNotebookMap,
  type LakeToken,
  lakeSecret,
  notebookSecret,
  notebookService,
} from '../../notebooks/notebook-objects.ts'
import { SECRET_KEYS } from '../../notebooks/notebook-spec.ts'
import { sessionOf } from '../../notebooks/notebook-targets.ts'
import { isReady } from '../../notebooks/pod-status.ts'
import { createNotebookStore, type NotebookSession } from '../../storage/notebook-store.ts'
import { toBase64Url } from '../token-service.ts'
import type { NotebookDeps } from './notebook-deps.ts'

/**
 * Makes sure that a pod has all that belongs to it: a place in the state, secrets, the first notebook and its service.
 * All of it is made after the pod and belongs to it, so that it goes when the pod goes; a start that broke off in the
 * middle is completed by the next one. What exists is not made again. False: the pod has lost its key and must be
 * replaced.
 */
export async function furnish(deps: NotebookDeps, pod: ClusterPod, context: RequestContext): Promise<boolean> {
  const cluster = deps.gate.cluster()
  const named = { name: pod.name, session: sessionOf(pod) }
  const part = sessionName(named.name, named.session)
  if ((await cluster.readSecret(part)) === undefined) {
    // The server knows its token from its start: a new one would be good for nothing.
    if (isReady(pod)) return false
    const jupyterToken = toBase64Url(deps.randomBytes(32))
    const { catalogUri } = deps.podView
    await createUnlessThere(cluster.createSecret(notebookSecret(pod, named, { jupyterToken, catalogUri })))
  }
  const known = await deps.store.find(context.caller.user)
  const session = known?.session === named.session ? known : newSession(deps, pod, context)
  await ensureLakeToken(deps, { pod, session, context })
  if (!isReady(pod)) await cluster.ensureConfigMap(firstNotebookMap(pod, named, FIRST_NOTEBOOK_CONTENT))
  await cluster.ensureService(notebookService(pod, named))
  return true
}

async function createUnlessThere(creation: Promise<void>): Promise<void> {
  await creation.catch((error: unknown) => {
    if (!isClusterError(error, 'exists')) throw error
  })
}

function newSession(deps: NotebookDeps, pod: ClusterPod, { caller }: RequestContext): NotebookSession {
  const now = deps.now().toISOString()
  const started = pod.createdAt ?? now
  return {
    user: caller.user,
    session: sessionOf(pod),
    podName: pod.name,
    podUid: pod.uid,
    startedAt: started,
    activeAt: now,
  }
}

type Token = Pick<NotebookSession, 'tokenId' | 'tokenExpiresAt'>

interface LakeTokenCall {
  readonly pod: ClusterPod
  readonly session: NotebookSession
  readonly context: RequestContext
}

/** Another replica may put its token into the notebook between two looks at it. */
const MAX_ROUNDS = 5

/**
 * Makes sure that the notebook has a Lockhouse token that can be used, with at least half of its time left, and that
 * the state knows it. A new token is in the state before it is in the cluster: whatever is lost between the two, the
 * end of the notebook ends its token.
 */
async function ensureLakeToken(deps: NotebookDeps, { pod, session, context }: LakeTokenCall): Promise<void> {
  if (deps.podView.apiUrl === undefined) return remember(deps, session, context)
  if (isReady(pod) && (await isGood(deps, session))) return remember(deps, session, context)
  const cluster = deps.gate.cluster()
  const name = lakeSecretName(pod.name, session.session)
  let made: LakeToken | undefined
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const there = tokenIn(await cluster.readSecret(name))
    if (there && (await isGood(deps, there))) {
      await remember(deps, { ...session, ...there }, context)
      // What was made here did not get into the notebook: another replica's token did.
      const unused = [made?.id, session.tokenId].filter((id) => id !== undefined && id !== there.tokenId)
      for (const id of unused) if (id !== undefined) await endToken(deps, id, context)
      return
    }
    for (const id of [there?.tokenId, session.tokenId]) if (id !== undefined) await endToken(deps, id, context)
    made ??= await makeToken(deps, session, context)
    await remember(deps, { ...session, tokenId: made.id, tokenExpiresAt: made.expiresAt }, context)
    if (there) await cluster.deleteSecret(name)
    // After a lost answer it is there although this says otherwise: the next round reads whose it is.
    await createUnlessThere(cluster.createSecret(lakeSecret(pod, { name: pod.name, session: session.session }, made)))
  }
  throw new ClusterError('unavailable', 'other requests keep replacing the token of the notebook: try again')
}

/** Whether a token can be used, and for at least half of the time of a new one. */
async function isGood({ now, settings, tokens }: NotebookDeps, { tokenId, tokenExpiresAt }: Token): Promise<boolean> {
  const leftMs = Date.parse(tokenExpiresAt ?? '') - now().getTime()
  return tokenId !== undefined && leftMs > settings.tokenMs / 2 && tokens.isInUse(tokenId)
}

function tokenIn(secret: Readonly<Record<string, string>> | undefined): Token | undefined {
  const tokenId = secret?.[SECRET_KEYS.lakeId]
  const tokenExpiresAt = secret?.[SECRET_KEYS.lakeExpires]
  if (secret === undefined) return undefined
  return { ...(tokenId ? { tokenId } : {}), ...(tokenExpiresAt ? { tokenExpiresAt } : {}) }
}

async function makeToken(
  { tokens, now, settings }: NotebookDeps,
  { session }: NotebookSession,
  context: RequestContext,
): Promise<LakeToken> {
  const expiresAt = new Date(now().getTime() + settings.tokenMs).toISOString()
  const { user, role } = context.caller
  const made = await tokens.create({ user, role, name: `notebook ${session}`, expires_at: expiresAt }, context)
  return { id: made.id, token: made.token, expiresAt }
}

/** Ends a token; one that has ended is fine. */
export async function endToken(deps: NotebookDeps, id: string, context?: RequestContext): Promise<void> {
  await deps.tokens.revoke(id, context).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'NOT_FOUND')) throw error
  })
}

/** Puts the notebook into the state; a notebook that is new there is a started one, for the audit log and for all. */
async function remember(deps: NotebookDeps, known: NotebookSession, context: RequestContext): Promise<void> {
  const { audit, events } = deps
  const { stopsAt: _, ...kept } = known // whoever starts a notebook that runs wants it to stay
  const session = { ...kept, activeAt: deps.now().toISOString() }
  await deps.inTransaction(async (tx) => {
    const store = createNotebookStore(tx)
    const isNew = (await store.find(session.user))?.session !== session.session
    await store.put(session)
    if (!isNew) return
    const details = { session_id: session.session, pod: session.podName }
    await audit.record(tx, {
      ...context,
      action: 'notebook.start',
      objectType: 'notebook',
      objectId: session.user,
      details,
    })
    await events.append(tx, {
      type: 'notebook.started',
      objectType: 'notebook',
      objectId: session.session,
      data: { session_id: session.session },
    })
  })
}
