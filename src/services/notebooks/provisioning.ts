import type { RequestContext } from '../../domain/audit.ts'
import { ClusterError, isClusterError } from '../../notebooks/cluster-error.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { FIRST_NOTEBOOK_CONTENT } from '../../notebooks/first-notebook.ts'
import { lakeSecretName, sessionName } from '../../notebooks/names.ts'
import {
  firstNotebookMap,
  type LakeToken,
  lakeSecret,
  notebookSecret,
  notebookService,
} from '../../notebooks/objects.ts'
import { SECRET_KEYS } from '../../notebooks/spec.ts'
import { sessionOf } from '../../notebooks/targets.ts'
import { isReady } from '../../notebooks/pod-status.ts'
import { createNotebookStore, type NotebookSession } from '../../storage/stores/notebooks/notebook-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import { toBase64Url } from '../identity/token-service.ts'
import type { NotebookDeps } from './deps.ts'
import { removeNotebook } from './removal.ts'
import { endToken } from './end-token.ts'

/**
 * Makes sure that a pod has everything that belongs to it: a record in the state, secrets, the first notebook and a
 * service. All objects are created after the pod and are owned by it, so that they are deleted with it; the next start
 * completes an interrupted one. Existing objects are kept. Returns false when the pod's key is lost and the pod must be
 * replaced, and when the notebook was stopped meanwhile: nothing of it remains then.
 */
export async function provision(deps: NotebookDeps, pod: ClusterPod, context: RequestContext): Promise<boolean> {
  const cluster = deps.gate.cluster()
  const named = { name: pod.name, session: sessionOf(pod) }
  const part = sessionName(named.name, named.session)
  if ((await cluster.readSecret(part)) === undefined) {
    // The server reads its token at start: a new one would have no effect.
    if (isReady(pod)) return false
    const jupyterToken = toBase64Url(deps.randomBytes(32))
    const { catalogUri } = deps.podView
    await createUnlessThere(cluster.createSecret(notebookSecret(pod, named, { jupyterToken, catalogUri })))
  }
  const known = await deps.store.find(context.caller.user)
  const isRecorded = known?.session === named.session
  const session = isRecorded ? known : newSession(deps, pod, context)
  // A pod without a record may be one that was stopped since it was read.
  if (!isRecorded && !(await isThere(deps, pod))) return false
  const token: HeldToken = {}
  const isKept = await ensureLakeToken(deps, { pod, session, isRecorded, context }, token)
  if (!isKept) return false
  if (!isReady(pod)) await cluster.ensureConfigMap(firstNotebookMap(pod, named, FIRST_NOTEBOOK_CONTENT))
  await cluster.ensureService(notebookService(pod, named))
  if (isReady(pod) || (await isThere(deps, pod))) return true
  await endStopped(deps, pod, context)
  // Another start may have recorded its own token instead, and the cluster deletes the secret with the pod.
  await endTokens(deps, [token.made?.id, token.written], context)
  return false
}

/** Ends a notebook whose pod was stopped while it was provisioned. */
async function endStopped(deps: NotebookDeps, pod: ClusterPod, { caller: { user } }: RequestContext): Promise<void> {
  const stopped = { ...pod, deletedAt: pod.deletedAt ?? deps.now().toISOString() }
  await removeNotebook(deps, { user, pod: stopped, session: await recordOf(deps, user, sessionOf(pod)), why: 'lost' })
}

/** Whether the cluster still has the pod, and is not deleting it. */
async function isThere(deps: NotebookDeps, { name, uid }: ClusterPod): Promise<boolean> {
  const pod = await deps.gate.cluster().getPod(name)
  return pod?.uid === uid && pod.deletedAt === undefined
}

/** The record of this session; undefined when it is gone. */
async function recordOf(deps: NotebookDeps, user: string, session: string): Promise<NotebookSession | undefined> {
  const known = await deps.store.find(user)
  return known?.session === session ? known : undefined
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
  /** Whether the state has the session. */
  readonly isRecorded: boolean
  readonly context: RequestContext
}

/** Another replica may write its token between two reads. */
const MAX_ROUNDS = 5

/**
 * Makes sure that the notebook has a valid Lockhouse token with at least half of its lifetime left, and that the state
 * records it. A new token is recorded in the state before it is written to the cluster: if the process stops between
 * the two, the end of the notebook still revokes its token. False when the notebook was stopped meanwhile.
 */
async function ensureLakeToken(deps: NotebookDeps, call: LakeTokenCall, held: HeldToken): Promise<boolean> {
  try {
    return await writeLakeToken(deps, call, held)
  } catch (error) {
    await endUnrecorded(deps, call, held)
    throw error
  }
}

/** What a call knows of the notebook's token. */
interface HeldToken {
  /** The token that the call has made. */
  made?: LakeToken
  /** The id of the token that the call has found in the notebook, valid. */
  written?: string
}

/**
 * Ends the token of a call that failed, unless the state records the token: another replica may have recorded its own
 * instead, and then nothing else would ever end the token.
 */
async function endUnrecorded(
  deps: NotebookDeps,
  { context }: LakeTokenCall,
  { made: token }: HeldToken,
): Promise<void> {
  if (token === undefined) return
  try {
    const recorded = (await deps.store.find(context.caller.user))?.tokenId
    if (recorded !== token.id) await endTokens(deps, [token.id], context)
  } catch (error) {
    deps.log.warn('a token of a notebook was not revoked; it ends at its expiry', { token: token.id, error })
  }
}

async function writeLakeToken(deps: NotebookDeps, call: LakeTokenCall, held: HeldToken): Promise<boolean> {
  const { pod, session, context } = call
  if (deps.podView.apiUrl === undefined) return recordSession(deps, session, call)
  if (isReady(pod) && (await isGood(deps, session))) return recordSession(deps, session, call)
  const cluster = deps.gate.cluster()
  const name = lakeSecretName(pod.name, session.session)
  let { isRecorded } = call
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const there = tokenIn(await cluster.readSecret(name))
    if (there?.tokenId !== undefined && (await isGood(deps, there))) {
      held.written = there.tokenId
      const isKept = await recordSession(deps, { ...session, ...there }, { isRecorded, context })
      // Only now: a recorded token that is not in the notebook may be one that another replica is about to write.
      const ids = [held.made?.id, session.tokenId, there.tokenId].filter((id) => !isKept || id !== there.tokenId)
      await endTokens(deps, ids, context)
      return isKept
    }
    await endTokens(deps, [there?.tokenId], context)
    const token = await usableToken(deps, call, held)
    const withToken = { ...session, tokenId: token.id, tokenExpiresAt: token.expiresAt }
    if (!(await recordSession(deps, withToken, { isRecorded, context }))) {
      await endTokens(deps, [token.id], context)
      return false
    }
    isRecorded = true
    if (there) await cluster.deleteSecret(name)
    // After a lost response the secret may exist despite this error: the next round reads whose it is.
    await createUnlessThere(cluster.createSecret(lakeSecret(pod, { name: pod.name, session: session.session }, token)))
  }
  throw new ClusterError('unavailable', 'other requests keep replacing the token of the notebook: try again')
}

/** The token that the call has made; a new one when another replica has ended the token meanwhile. */
async function usableToken(
  deps: NotebookDeps,
  { session, context }: LakeTokenCall,
  held: HeldToken,
): Promise<LakeToken> {
  const isEnded = held.made !== undefined && !(await deps.tokens.isInUse(held.made.id))
  if (held.made === undefined || isEnded) held.made = await makeToken(deps, session, context)
  return held.made
}

/** Whether a token is valid, and for at least half the lifetime of a new one. */
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

type TokenIds = readonly (string | undefined)[]

async function endTokens(deps: NotebookDeps, ids: TokenIds, context: RequestContext): Promise<void> {
  for (const id of ids) if (id !== undefined) await endToken(deps, id, context)
}

/**
 * Records the notebook in the state; a newly recorded one is logged as started. False for a recorded one that was
 * stopped meanwhile.
 */
async function recordSession(
  deps: NotebookDeps,
  known: NotebookSession,
  call: Pick<LakeTokenCall, 'isRecorded' | 'context'>,
): Promise<boolean> {
  const { stopsAt: _, ...kept } = known // starting a running notebook cancels an announced stop
  const session = { ...kept, activeAt: deps.now().toISOString() }
  return deps.inTransaction((tx) => storeSession(deps, tx, { ...call, session }))
}

type StoreCall = Pick<LakeTokenCall, 'isRecorded' | 'context' | 'session'>

async function storeSession({ audit, events }: NotebookDeps, tx: Tx, { session, isRecorded, context }: StoreCall) {
  const store = createNotebookStore(tx)
  if (isRecorded) return store.update(session)
  if (!(await store.put(session))) return true
  const details = { session_id: session.session, pod: session.podName }
  const object = { objectType: 'notebook', objectId: session.user } as const
  await audit.record(tx, { ...context, ...object, action: 'notebook.start', details })
  await events.append(tx, {
    type: 'notebook.started',
    objectType: 'notebook',
    objectId: session.session,
    data: { session_id: session.session },
  })
  return true
}
