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
import { isReady } from '../../notebooks/pod-status.ts'
import type { NotebookSession } from '../../storage/stores/notebooks/notebook-store.ts'
import { toBase64Url } from '../identity/token-service.ts'
import type { NotebookDeps } from './deps.ts'
import { createLakeToken, keepLakeToken, recordSession, type TokenInNotebook } from './sessions.ts'

/**
 * Makes sure that a pod has everything that belongs to it: a record in the state, secrets, the first notebook and a
 * service. All objects are created after the pod and are owned by it, so that they are deleted with it; the next start
 * completes an interrupted one. Existing objects are kept. Returns false when the pod must be replaced: its key is lost,
 * or its session has ended, also while this runs.
 */
export async function provision(deps: NotebookDeps, pod: ClusterPod, context: RequestContext): Promise<boolean> {
  const cluster = deps.gate.cluster()
  const { user } = context.caller
  const session = await recordSession(deps, pod, { user, activeAt: deps.now().toISOString(), context })
  if (session === undefined) return false
  const named = { name: pod.name, session: session.session }
  const part = sessionName(named.name, named.session)
  if ((await cluster.readSecret(part)) === undefined) {
    // The server reads its token at start: a new one would have no effect.
    if (isReady(pod)) return false
    const jupyterToken = toBase64Url(deps.randomBytes(32))
    const { catalogUri } = deps.podView
    await createUnlessThere(cluster.createSecret(notebookSecret(pod, named, { jupyterToken, catalogUri })))
  }
  if (!(await ensureLakeToken(deps, { pod, session, context }))) return false
  if (!isReady(pod)) await cluster.ensureConfigMap(firstNotebookMap(pod, named, FIRST_NOTEBOOK_CONTENT))
  await cluster.ensureService(notebookService(pod, named))
  return (await deps.store.find(user))?.session === session.session
}

async function createUnlessThere(creation: Promise<void>): Promise<void> {
  await creation.catch((error: unknown) => {
    if (!isClusterError(error, 'exists')) throw error
  })
}

interface LakeTokenCall {
  readonly pod: ClusterPod
  readonly session: NotebookSession
  readonly context: RequestContext
}

/** Another replica may write its token between two reads. */
const MAX_ROUNDS = 5

/**
 * Makes sure that the notebook has a valid Lockhouse token with at least half of its lifetime left. Of concurrent starts
 * each may create a token; the first that finds a valid one in the notebook ends the others. False when the session has
 * ended.
 */
async function ensureLakeToken(deps: NotebookDeps, { pod, session, context }: LakeTokenCall): Promise<boolean> {
  if (deps.podView.apiUrl === undefined) return true
  if (isReady(pod) && (await isGood(deps, session))) return true
  const cluster = deps.gate.cluster()
  const name = lakeSecretName(pod.name, session.session)
  let made: LakeToken | undefined
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const there = await cluster.readSecret(name)
    const inside = tokenIn(there)
    if (inside && (await isGood(deps, inside))) return keepLakeToken(deps, session, { ...inside, context })
    if (made === undefined || !(await deps.tokens.isInUse(made.id)))
      made = await createLakeToken(deps, session, context)
    if (made === undefined) return false
    if (there) await cluster.deleteSecret(name)
    // After a lost response the secret may exist despite this error: the next round reads whose it is.
    await createUnlessThere(cluster.createSecret(lakeSecret(pod, { name: pod.name, session: session.session }, made)))
  }
  throw new ClusterError('unavailable', 'other requests keep replacing the token of the notebook: try again')
}

/** Whether a token is valid, and for at least half the lifetime of a new one. */
async function isGood(
  { now, settings, tokens }: NotebookDeps,
  { tokenId, tokenExpiresAt }: Partial<TokenInNotebook>,
): Promise<boolean> {
  const leftMs = Date.parse(tokenExpiresAt ?? '') - now().getTime()
  return tokenId !== undefined && leftMs > settings.tokenMs / 2 && tokens.isInUse(tokenId)
}

function tokenIn(secret: Readonly<Record<string, string>> | undefined): TokenInNotebook | undefined {
  const tokenId = secret?.[SECRET_KEYS.lakeId]
  const tokenExpiresAt = secret?.[SECRET_KEYS.lakeExpires]
  return tokenId && tokenExpiresAt ? { tokenId, tokenExpiresAt } : undefined
}
