import type { RequestContext } from '../../domain/audit.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import type { LakeToken } from '../../notebooks/objects.ts'
import { sessionOf } from '../../notebooks/targets.ts'
import {
  createNotebookStore,
  type NotebookSession,
  type SessionKey,
} from '../../storage/stores/notebooks/notebook-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { TokenChanges } from '../identity/token-service.ts'
import type { NotebookDeps } from './deps.ts'

/*
 * The life of a session: one pod of a user's notebook, in the state database.
 *
 * Any number of services start, stop and check the same notebook at any time, and each may end at any point. The state
 * decides between them. Its transactions run one after the other, and each step below is one of them:
 *
 * 1. `recordSession` inserts the record of a session, and writes `notebook.started`. An ended session is refused. A user
 *    has one record: the record of an earlier session ends here, because its pod is gone.
 * 2. `createLakeToken` creates a token that belongs to the session, only while the record exists.
 * 3. `keepLakeToken` ends all other tokens of the session, only while the record exists.
 * 4. `endSession` deletes the record, writes `notebook.stopped`, ends all tokens of the session, and remembers that the
 *    session has ended.
 *
 * Hence a valid token always belongs to a recorded session, and a session that has ended stays ended: a late start can
 * neither record it nor create a token for it, even when the end came before the record. Each session is announced once
 * as started and once as stopped. The cluster comes after the state: a pod is deleted after its session has ended, and
 * its parts are created after its session was recorded. A pod that remains is deleted by the next start, stop or check.
 */

/** How long an ended session is remembered, in ms: a start lasts minutes at most. */
const REMEMBER_MS = 24 * 60 * 60 * 1000

/**
 * Why a notebook ends. `asked`: its user stopped it. `replaced`: it had failed, and its user starts a new one. `idle`:
 * it was not used. `failed`, `ended`: it no longer ran. `lost`: the cluster removed it.
 */
export type EndReason = 'asked' | 'replaced' | 'idle' | 'failed' | 'ended' | 'lost'

/** Why a session ends, and who requests it; without a context the service itself. */
export interface SessionEnd {
  readonly why: EndReason
  readonly context?: RequestContext | undefined
}

/** The user and time of a start; without a context the service itself. */
export interface SessionStart {
  readonly user: string
  /** RFC 3339. */
  readonly activeAt: string
  readonly context?: RequestContext | undefined
}

/** Dependencies of sessions. */
export type SessionDeps = Pick<NotebookDeps, 'audit' | 'events' | 'now' | 'tokens'> & {
  readonly settings: Pick<NotebookDeps['settings'], 'tokenMs'>
}

/** Records the session of a pod, and cancels its announced stop. Undefined for a session that has ended. */
export async function recordSession(
  deps: SessionDeps,
  pod: ClusterPod,
  start: SessionStart,
): Promise<NotebookSession | undefined> {
  const { user, activeAt } = start
  const key: SessionKey = { user, session: sessionOf(pod) }
  return deps.tokens.change(async (tx, changes) => {
    const store = createNotebookStore(tx)
    const known = await store.find(user)
    if (known?.session === key.session) {
      const { stopsAt: _, ...kept } = known
      const session = { ...kept, activeAt: activeAt > known.activeAt ? activeAt : known.activeAt }
      await store.update(session)
      return session
    }
    if (await store.isEnded(key)) return undefined
    if (known && pod.createdAt !== undefined && Date.parse(known.startedAt) > Date.parse(pod.createdAt)) {
      // the name of an older pod belongs to a newer one
      await end(deps, { tx, changes }, { ...key, why: 'lost' })
      return undefined
    }
    if (known) await end(deps, { tx, changes }, { ...known, why: 'lost' })
    const startedAt = pod.createdAt ?? activeAt
    const session = { ...key, podName: pod.name, podUid: pod.uid, startedAt, activeAt }
    await store.insert(session)
    await announceStart(deps, tx, { session, start })
    return session
  })
}

interface Announced {
  readonly session: NotebookSession
  readonly start: SessionStart
}

async function announceStart({ audit, events }: SessionDeps, tx: Tx, { session, start }: Announced): Promise<void> {
  await audit.record(tx, {
    ...(start.context ?? SERVICE),
    action: 'notebook.start',
    objectType: 'notebook',
    objectId: session.user,
    details: { session_id: session.session, pod: session.podName },
  })
  await events.append(tx, {
    type: 'notebook.started',
    objectType: 'notebook',
    objectId: session.session,
    data: { session_id: session.session },
  })
}

/** Creates a token for a session with the role of the caller. Undefined when the session has ended. */
export async function createLakeToken(
  { tokens, now, settings }: SessionDeps,
  { user, session }: SessionKey,
  context: RequestContext,
): Promise<LakeToken | undefined> {
  return tokens.change(async (tx, changes) => {
    if (!(await isRecorded(tx, { user, session }))) return undefined
    const expiresAt = new Date(now().getTime() + settings.tokenMs).toISOString()
    const request = { user, role: context.caller.role, name: `notebook ${session}`, expires_at: expiresAt }
    const { id, token } = await changes.createForNotebook(request, session, context)
    return { id, token, expiresAt }
  })
}

/** Records which token the notebook has, and ends its others. False when the session has ended. */
export async function keepLakeToken(
  { tokens }: SessionDeps,
  { user, session }: SessionKey,
  { tokenId, tokenExpiresAt, context }: TokenInNotebook & { readonly context: RequestContext },
): Promise<boolean> {
  return tokens.change(async (tx, changes) => {
    const store = createNotebookStore(tx)
    const known = await store.find(user)
    if (known?.session !== session) return false
    await store.update({ ...known, tokenId, tokenExpiresAt })
    await changes.revokeOfNotebook({ user, session, except: tokenId }, context)
    return true
  })
}

/** A token that is in a notebook. */
export type TokenInNotebook = Required<Pick<NotebookSession, 'tokenId' | 'tokenExpiresAt'>>

/** Ends a session; does nothing when it has already ended. */
export async function endSession(deps: SessionDeps, { user, session }: SessionKey, reason: SessionEnd): Promise<void> {
  await deps.tokens.change((tx, changes) => end(deps, { tx, changes }, { user, session, ...reason }))
}

interface Transaction {
  readonly tx: Tx
  readonly changes: TokenChanges
}

async function end(
  { now, audit, events }: SessionDeps,
  { tx, changes }: Transaction,
  { user, session, why, context }: SessionKey & SessionEnd,
): Promise<void> {
  const store = createNotebookStore(tx)
  const wasRecorded = await store.delete({ user, session })
  await changes.revokeOfNotebook({ user, session }, context)
  const at = now()
  if (!(await store.markEnded({ user, session }, at.toISOString()))) return
  await store.forgetEnded(new Date(at.getTime() - REMEMBER_MS).toISOString())
  const details = { session_id: session, reason: why }
  await audit.record(tx, {
    ...(context ?? SERVICE),
    action: 'notebook.stop',
    objectType: 'notebook',
    objectId: user,
    details,
  })
  // A pod that an interrupted start left without a record was never announced.
  if (!wasRecorded) return
  await events.append(tx, { type: 'notebook.stopped', objectType: 'notebook', objectId: session, data: details })
}

async function isRecorded(tx: Tx, { user, session }: SessionKey): Promise<boolean> {
  return (await createNotebookStore(tx).find(user))?.session === session
}

const SERVICE = { caller: undefined, channel: 'system' } as const
