import type { ClusterPod, PodContainer, PodTermination } from './cluster-pod.ts'
import type { PodEvent } from './notebook-cluster.ts'

/** Values of the specification, section 2. */
export type NotebookPhase = 'not_found' | 'pending' | 'running' | 'failed'

/** How a notebook is, for its user. */
export interface NotebookState {
  readonly phase: NotebookPhase
  /** One sentence, where there is something to say. */
  readonly reason: string | undefined
  /** When the server began to run; RFC 3339. */
  readonly startedAt: string | undefined
}

/** Waiting for these does not end by waiting; the rest (`ContainerCreating`, `PodInitializing`, …) passes. */
const HOPELESS: Readonly<Record<string, string>> = {
  ErrImagePull: 'the image cannot be pulled',
  ImagePullBackOff: 'the image cannot be pulled',
  InvalidImageName: 'the name of the image is invalid',
  ImageInspectError: 'the image cannot be read',
  ErrImageNeverPull: 'the image is not on the node',
  RegistryUnavailable: 'the registry of the image does not answer',
  CreateContainerError: 'the container cannot be made',
  RunContainerError: 'the container cannot be run',
}

/** Reasons of failed pods, and of events about pods that are gone. */
const ENDINGS: Readonly<Record<string, string>> = {
  Evicted: 'the cluster evicted it',
  TaintManagerEviction: 'its node was taken out of service',
  DeadlineExceeded: 'it ran longer than the cluster allows',
  NodeLost: 'its node is lost',
  NodeShutdown: 'its node was shut down',
  Terminated: 'its node was shut down',
  Preempting: 'the cluster needed its place for something more important',
  Preempted: 'the cluster needed its place for something more important',
  UnexpectedAdmissionError: 'its node refused it',
  OutOfcpu: 'its node has no CPU left',
  OutOfmemory: 'its node has no memory left',
  OutOfpods: 'its node has no place left',
}

/** Reasons of a pod's condition `DisruptionTarget`: why the cluster takes it away although it ran well. */
const DISRUPTIONS: Readonly<Record<string, string>> = {
  EvictionByEvictionAPI: 'its node was drained',
  DeletionByTaintManager: 'its node was taken out of service',
  DeletionByPodGC: 'its node is lost',
  PreemptionByScheduler: 'the cluster needed its place for something more important',
  TerminationByKubelet: 'its node was shut down, or ran out of memory or disk',
}

/** Why the scheduler finds no node, by its words; the first that fits. */
const UNSCHEDULABLE: readonly (readonly [RegExp, string])[] = [
  [/unbound immediate persistentvolumeclaims|available persistent volumes to bind/i, 'its volume is not bound'],
  [/persistentvolumeclaim "[^"]*" (not found|is being deleted)/i, 'its volume is missing'],
  [/volume node affinity conflict|exceed max volume count/i, 'no node with room can reach its volume'],
  [/insufficient|too many pods/i, 'no node has room for it'],
  [/untolerated taint|were unschedulable/i, 'no node is open to it'],
  [/node affinity|node selector/i, 'no node has the labels that it asks for'],
]

const SILENT = 'the node of the notebook does not answer'

/** A pod that is deleted ends within seconds; one that is there for so long after that has a node that is gone. */
const OVERDUE_MS = 60_000

/** A missing secret is made right after the pod; one that is missing for longer is not coming by itself. */
const SETTLING_MS = 60_000

/** How a pod is; events explain what the pod alone does not. */
export function notebookState(pod: ClusterPod, events: readonly PodEvent[], nowMs: number): NotebookState {
  const notebook = pod.containers.find(({ name }) => name === 'notebook')
  const startedAt = notebook?.runningSince
  const state = (phase: NotebookPhase, reason?: string): NotebookState => ({ phase, reason, startedAt })
  if (pod.deletedAt !== undefined) {
    const why = isAbandoned(pod, nowMs)
      ? `${SILENT}; a start or a stop now takes the pod away from it`
      : whyDisrupted(pod)
    return state('pending', sentence('the notebook is being stopped', why))
  }
  const own = events.filter(({ podUid }) => podUid === pod.uid)
  switch (pod.phase) {
    case 'Succeeded':
      return state('not_found', 'the notebook server was shut down from inside')
    case 'Failed':
      return state('failed', whyFailed(pod, notebook))
    case 'Unknown':
      return state('failed', SILENT)
    default:
  }
  const stuck = pod.containers.map((container) => whyStuck(container, pod, nowMs)).find((why) => why !== undefined)
  if (stuck !== undefined) return state('failed', stuck)
  if (pod.phase === 'Running' && notebook?.started === true) {
    if (isNodeSilent(pod))
      return state('failed', `${SILENT}; it may come back, or start the notebook again on another node`)
    if (!notebook.ready) return state('running', 'the notebook server does not answer its probe')
    return state('running', whyRestarted(notebook))
  }
  return state('pending', whyPending(pod, notebook, own))
}

/** Whether requests can be sent to it. */
export function isReady(pod: ClusterPod): boolean {
  const notebook = pod.containers.find(({ name }) => name === 'notebook')
  return pod.deletedAt === undefined && pod.phase === 'Running' && notebook?.started === true
}

/**
 * Whether the cluster has lost touch with the pod's node: it then marks the pod as not ready, while the containers are
 * as their node last told.
 */
export function isNodeSilent(pod: ClusterPod): boolean {
  const ready = pod.conditions.find(({ type }) => type === 'Ready')
  return ready?.status === 'False' && pod.containers.some(({ name, ready }) => name === 'notebook' && ready)
}

/** Whether a pod that is being deleted waits for a node that does not answer. */
export function isAbandoned(pod: ClusterPod, nowMs: number): boolean {
  if (pod.deletedAt === undefined) return false
  return isNodeSilent(pod) || nowMs - Date.parse(pod.deletedAt) > OVERDUE_MS
}

/**
 * Why a pod that nobody stopped is no more: by what it was like when it was last seen, else as far as the cluster still
 * tells.
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
  const known = HOPELESS[waiting.reason]
  if (known !== undefined) return sentence(known, waiting.message)
  if (waiting.reason === 'CrashLoopBackOff') {
    const last = container.lastTerminated
    return last ? `it keeps ending after its start: ${howEnded(last)}` : 'it keeps ending after its start'
  }
  const ageMs = nowMs - Date.parse(pod.createdAt ?? '')
  if (waiting.reason === 'CreateContainerConfigError' && ageMs > SETTLING_MS) {
    return sentence('something that its pod needs is missing', waiting.message)
  }
  return undefined
}

function whyPending(pod: ClusterPod, notebook: PodContainer | undefined, events: readonly PodEvent[]): string {
  const scheduled = pod.conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') {
    const why = scheduled.message ?? events.findLast(({ reason }) => reason === 'FailedScheduling')?.message
    const known = UNSCHEDULABLE.find(([words]) => words.test(why ?? ''))?.[1]
    return sentence(known ?? 'no node takes it', why)
  }
  const last = events.at(-1)
  if (last?.warning === true && last.reason !== 'Unhealthy')
    return sentence(`the cluster says ${last.reason}`, last.message)
  if (notebook?.lastTerminated) return `it starts again: ${howEnded(notebook.lastTerminated)}`
  if (notebook?.runningSince !== undefined) return 'the notebook server is starting'
  if (last?.reason === 'Pulling') return 'the image is being pulled'
  return scheduled?.status === 'True' ? 'the pod is being made ready' : 'waiting for a node'
}

function whyRestarted({ lastTerminated }: PodContainer): string | undefined {
  return lastTerminated && `it was started again: ${howEnded(lastTerminated)}`
}

function howEnded({ reason, exitCode }: PodTermination): string {
  if (reason === 'OOMKilled') return 'it ran out of memory'
  return `the notebook server ended with exit code ${exitCode}`
}

/** The cluster's own words after ours; bounded, for some of them list every node. */
function sentence(ours: string, theirs: string | undefined): string {
  const words = theirs?.replaceAll(/\s+/g, ' ').trim() ?? ''
  if (words === '') return ours
  return `${ours}: ${words.length > 300 ? `${words.slice(0, 299)}…` : words}`
}
