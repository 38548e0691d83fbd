import type { RequestContext } from '../../domain/audit.ts'
import { isClusterError } from '../../notebooks/cluster-error.ts'
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
 * Makes sure that a pod has all that belongs to it: secrets, the first notebook, its service, and a place in the state.
 * All of it is made after the pod and belongs to it, so that it goes when the pod goes; a start that broke off in the
 * middle is completed by the next one. False: the pod has lost its key and must be replaced.
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
    await unlessThere(cluster.createSecret(notebookSecret(pod, named, { jupyterToken, catalogUri })))
  }
  const known = await deps.store.find(context.caller.user)
  const session = known?.session === named.session ? known : newSession(deps, pod, context)
  const token = await lakeTokenOf(deps, pod, session, context)
  if (!isReady(pod)) await unlessThere(cluster.createConfigMap(firstNotebookMap(pod, named, FIRST_NOTEBOOK_CONTENT)))
  await unlessThere(cluster.createService(notebookService(pod, named)))
  const { stopsAt: _, ...kept } = session // whoever starts a notebook that runs wants it to stay
  await remember(deps, { ...kept, ...token, activeAt: deps.now().toISOString() }, context)
  return true
}

async function unlessThere(creation: Promise<unknown>): Promise<boolean> {
  try {
    await creation
    return true
  } catch (error) {
    if (isClusterError(error, 'exists')) return false
    throw error
  }
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

/** The notebook's Lockhouse token: the one it has, or a new one when it has none or less than half of its time left. */
async function lakeTokenOf(
  deps: NotebookDeps,
  pod: ClusterPod,
  session: NotebookSession,
  context: RequestContext,
): Promise<Token> {
  if (deps.podView.apiUrl === undefined) return {}
  const cluster = deps.gate.cluster()
  if (isReady(pod) && isFresh(deps, session)) return {}
  const name = lakeSecretName(pod.name, session.session)
  const there = tokenIn(await cluster.readSecret(name))
  if (there && isFresh(deps, there)) return there
  const made = await makeToken(deps, session, context)
  try {
    if (there) await cluster.deleteSecret(name)
    const named = { name: pod.name, session: session.session }
    if (await unlessThere(cluster.createSecret(lakeSecret(pod, named, made)))) {
      const earlier = new Set([there?.tokenId, session.tokenId].filter((id) => id !== undefined))
      for (const id of earlier) await endToken(deps, id, context)
      return { tokenId: made.id, tokenExpiresAt: made.expiresAt }
    }
  } catch (error) {
    await endToken(deps, made.id, context)
    throw error
  }
  await endToken(deps, made.id, context) // another replica was faster: its token is in the notebook
  return tokenIn(await cluster.readSecret(name)) ?? {}
}

function isFresh({ now, settings }: NotebookDeps, { tokenExpiresAt }: Token): boolean {
  return Date.parse(tokenExpiresAt ?? '') - now().getTime() > settings.tokenMs / 2
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
async function remember(deps: NotebookDeps, session: NotebookSession, context: RequestContext): Promise<void> {
  const { audit, events } = deps
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
