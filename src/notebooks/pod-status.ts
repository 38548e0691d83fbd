import type { ClusterPod, PodContainer, PodTermination } from './cluster-pod.ts'
import type { PodEvent } from './cluster.ts'

/** States of a notebook (docs/api.md#notebooks). */
export type NotebookPhase = 'not_found' | 'pending' | 'running' | 'failed'

/** State of a notebook, as shown to its user. */
export interface NotebookState {
  readonly phase: NotebookPhase
  /** One sentence that explains the state, if needed. */
  readonly reason: string | undefined
  /** When the server started; RFC 3339. */
  readonly startedAt: string | undefined
}

/** Waiting reasons that need a fix; the others (`ContainerCreating`, `PodInitializing`, …) resolve by themselves. */
const BLOCKING: Readonly<Record<string, string>> = {
  ErrImagePull: 'the image cannot be pulled',
  ImagePullBackOff: 'the image cannot be pulled',
  InvalidImageName: 'the name of the image is invalid',
  ImageInspectError: 'the image cannot be read',
  ErrImageNeverPull: 'the image is not on the node',
  RegistryUnavailable: 'the image registry does not respond',
  CreateContainerError: 'the container cannot be created',
  RunContainerError: 'the container cannot be started',
}

/** Reasons of failed pods, and of events about deleted pods. */
const ENDINGS: Readonly<Record<string, string>> = {
  Evicted: 'the cluster evicted the notebook',
  TaintManagerEviction: 'its node was taken out of service',
  DeadlineExceeded: 'the notebook exceeded the time limit of the cluster',
  NodeLost: 'its node was lost',
  NodeShutdown: 'its node was shut down',
  Terminated: 'its node was shut down',
  Preempting: 'the cluster needed its resources for a pod with higher priority',
  Preempted: 'the cluster needed its resources for a pod with higher priority',
  UnexpectedAdmissionError: 'its node rejected the pod',
  OutOfcpu: 'its node has no CPU left',
  OutOfmemory: 'its node has no memory left',
  OutOfpods: 'its node has reached its limit of pods',
}

/** Reasons of the pod condition `DisruptionTarget`: why the cluster removes a healthy pod. */
const DISRUPTIONS: Readonly<Record<string, string>> = {
  EvictionByEvictionAPI: 'its node was drained',
  DeletionByTaintManager: 'its node was taken out of service',
  DeletionByPodGC: 'its node was lost',
  PreemptionByScheduler: 'the cluster needed its resources for a pod with higher priority',
  TerminationByKubelet: 'its node was shut down, or ran out of memory or disk',
}

/** Why the scheduler finds no node, by patterns in its message; the first match applies. */
const UNSCHEDULABLE: readonly (readonly [RegExp, string])[] = [
  [/unbound immediate persistentvolumeclaims|available persistent volumes to bind/i, 'its volume is not bound'],
  [/persistentvolumeclaim "[^"]*" (not found|is being deleted)/i, 'its volume is missing'],
  [/volume node affinity conflict|exceed max volume count/i, 'no node with free resources can attach its volume'],
  [/insufficient|too many pods/i, 'no node has enough free resources'],
  [/untolerated taint|were unschedulable/i, 'all nodes exclude it (taints or disabled scheduling)'],
  [/node affinity|node selector/i, 'no node has the required labels'],
]

const NODE_UNREACHABLE = 'the node of the notebook does not respond'

/** A deleted pod ends within seconds. When it still exists after this time, its node does not respond. */
const OVERDUE_MS = 60_000

/** The secret is created right after the pod. When it is missing for longer, something is wrong. */
const SETTLING_MS = 60_000

/** The state of a pod; events explain what the pod's own status does not. */
export function notebookState(pod: ClusterPod, events: readonly PodEvent[], nowMs: number): NotebookState {
  const notebook = pod.containers.find(({ name }) => name === 'notebook')
  const startedAt = notebook?.runningSince
  const state = (phase: NotebookPhase, reason?: string): NotebookState => ({ phase, reason, startedAt })
  if (pod.deletedAt !== undefined) {
    const why = isAbandoned(pod, nowMs)
      ? `${NODE_UNREACHABLE}; start or stop the notebook to remove its pod by force`
      : whyDisrupted(pod)
    return state('pending', sentence('the notebook is being stopped', why))
  }
  const own = events.filter(({ podUid }) => podUid === pod.uid)
  switch (pod.phase) {
    case 'Succeeded':
      return state('not_found', 'the notebook server was shut down from within the notebook')
    case 'Failed':
      return state('failed', whyFailed(pod, notebook))
    case 'Unknown':
      return state('failed', NODE_UNREACHABLE)
    default:
  }
  const stuck = pod.containers.map((container) => whyStuck(container, pod, nowMs)).find((why) => why !== undefined)
  if (stuck !== undefined) return state('failed', stuck)
  if (pod.phase === 'Running' && notebook?.started === true) {
    if (isNodeUnreachable(pod))
      return state('failed', `${NODE_UNREACHABLE}; wait for it to recover, or start the notebook again on another node`)
    if (!notebook.ready) return state('running', 'the notebook server does not respond to its readiness probe')
    return state('running', whyRestarted(notebook))
  }
  return state('pending', whyPending(pod, notebook, own))
}

/** Whether the pod accepts requests. */
export function isReady(pod: ClusterPod): boolean {
  const notebook = pod.containers.find(({ name }) => name === 'notebook')
  return pod.deletedAt === undefined && pod.phase === 'Running' && notebook?.started === true
}

/**
 * Whether the cluster has lost contact with the pod's node: it then marks the pod as not ready, while the container
 * statuses stay as the node last reported them.
 */
export function isNodeUnreachable(pod: ClusterPod): boolean {
  const ready = pod.conditions.find(({ type }) => type === 'Ready')
  return ready?.status === 'False' && pod.containers.some(({ name, ready }) => name === 'notebook' && ready)
}

/** Whether a pod that is being deleted waits for a node that does not respond. */
export function isAbandoned(pod: ClusterPod, nowMs: number): boolean {
  if (pod.deletedAt === undefined) return false
  return isNodeUnreachable(pod) || nowMs - Date.parse(pod.deletedAt) > OVERDUE_MS
}

/**
 * Why a pod disappeared although nobody stopped it: from its last known status, else from the events that the cluster
 * still has.
 */
export function whyGone(lastSeen: ClusterPod | undefined, events: readonly PodEvent[]): string {
  const disrupted = lastSeen && whyDisrupted(lastSeen)
  if (disrupted !== undefined) return disrupted
  const last = events.findLast(({ reason }) => ENDINGS[reason] !== undefined)
  const known = last && ENDINGS[last.reason]
  return known ? sentence(known, last.message) : 'the cluster removed it'
}

function whyDisrupted({ conditions }: ClusterPod): string | undefined {
  const target = conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')
  if (target === undefined) return undefined
  return sentence(DISRUPTIONS[target.reason ?? ''] ?? 'the cluster is removing its pod', target.message)
}

function whyFailed(pod: ClusterPod, notebook: PodContainer | undefined): string {
  const known = pod.reason === undefined ? undefined : ENDINGS[pod.reason]
  if (known !== undefined) return sentence(known, pod.message)
  const failed = pod.containers.find(({ terminated }) => terminated && terminated.exitCode !== 0) ?? notebook
  if (failed?.terminated) return howEnded(failed.terminated)
  return pod.message ?? 'the pod failed'
}

function whyStuck(container: PodContainer, pod: ClusterPod, nowMs: number): string | undefined {
  const { waiting } = container
  if (!waiting) return undefined
  const known = BLOCKING[waiting.reason]
  if (known !== undefined) return sentence(known, waiting.message)
  if (waiting.reason === 'CrashLoopBackOff') {
    const last = container.lastTerminated
    return last ? `it ends after every start: ${howEnded(last)}` : 'it ends after every start'
  }
  const ageMs = nowMs - Date.parse(pod.createdAt ?? '')
  if (waiting.reason === 'CreateContainerConfigError' && ageMs > SETTLING_MS) {
    return sentence('an object that its pod needs is missing', waiting.message)
  }
  return undefined
}

function whyPending(pod: ClusterPod, notebook: PodContainer | undefined, events: readonly PodEvent[]): string {
  const scheduled = pod.conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') return whyUnscheduled(scheduled.message, events)
  const last = events.at(-1)
  if (last?.warning === true && last.reason !== 'Unhealthy')
    return sentence(`the cluster reports ${last.reason}`, last.message)
  const starting = notebook && whyStarting(notebook)
  if (starting !== undefined) return starting
  if (last?.reason === 'Pulling') return 'the image is being pulled'
  return scheduled?.status === 'True' ? 'the pod is being prepared' : 'waiting for a node'
}

function whyStarting({ lastTerminated, runningSince }: PodContainer): string | undefined {
  if (lastTerminated) return `it is restarting: ${howEnded(lastTerminated)}`
  return runningSince === undefined ? undefined : 'the notebook server is starting'
}

function whyUnscheduled(message: string | undefined, events: readonly PodEvent[]): string {
  const why = message ?? events.findLast(({ reason }) => reason === 'FailedScheduling')?.message
  const known = UNSCHEDULABLE.find(([words]) => words.test(why ?? ''))?.[1]
  return sentence(known ?? 'the pod cannot be scheduled', why)
}

function whyRestarted({ lastTerminated }: PodContainer): string | undefined {
  return lastTerminated && `it was restarted: ${howEnded(lastTerminated)}`
}

function howEnded({ reason, exitCode }: PodTermination): string {
  if (reason === 'OOMKilled') return 'it ran out of memory'
  return `the notebook server ended with exit code ${exitCode}`
}

/** Our own text followed by the cluster's message, which is cut because some messages list every node. */
function sentence(text: string, message: string | undefined): string {
  const detail = message?.replaceAll(/\s+/g, ' ').trim() ?? ''
  if (detail === '') return text
  return `${text}: ${detail.length > 300 ? `${detail.slice(0, 299)}…` : detail}`
}
