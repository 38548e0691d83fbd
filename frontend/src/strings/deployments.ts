import { formatPlural } from './everywhere/units.ts'
import { inWords } from './environments.ts'

/** Text about deployments of versions in environments. */
export const deploymentStrings = {
  title: 'Deployments',
  lead: 'The version that runs in each environment.',
  nothing: 'No environment has a version of this definition.',
  states: {
    none: 'Not deployed',
    out_of_date: 'Out of date',
    waiting_for_window: 'Waiting for window',
    rolling_out: 'Rolling out',
    in_sync: 'In sync',
    rolled_back: 'Rolled back',
    failed: 'Failed',
  },
  phases: {
    waiting_for_window: 'Begins when the change window opens',
    validating: 'Checking the version',
    stopping: 'Waiting until the running pipeline has stopped after its batch',
    starting: 'Starting the new pipeline',
    watching: 'Watching the first batch of the new pipeline',
    withdrawing: 'Stopping the new pipeline',
    restoring: 'Starting the version before again',
  },
  runs: (version: number | undefined) => (version === undefined ? 'A version runs' : `v${version} runs`),
  runsNothing: 'Nothing deployed',
  startedByHand: (count: number) =>
    count === 1
      ? '1 pipeline that was started by hand runs here'
      : `${count} pipelines that were started by hand run here`,
  newest: (version: number) => `Latest version: v${version}`,
  pipeline: 'Pipeline',
  changed: 'Last change',
  actions: { deploy: 'Deploy', rollback: 'Roll back', undeploy: 'Undeploy' },
  deployVersion: (version: number | undefined) => (version === undefined ? 'Deploy' : `Deploy v${version}`),
  actionIn: (action: string, environment: string) => `${action} in ${inWords(environment)}`,
  needsRole: (role: string) => `Only a ${role.toLowerCase()} can change this.`,
  cancelRollout: 'Cancel rollout',
  guarded: 'Rolled back automatically if it fails or falls behind until',
  override: {
    title: (environment: string) => `Override the change window in ${inWords(environment)}?`,
    text: 'The rollout begins immediately.',
    reason: 'Reason',
    reasonHelp: 'Required. Shown in the history and recorded in the audit log.',
    confirm: 'Override window',
    by: (who: string, reason: string) => `Change window overridden by ${who}: ${reason}`,
  },
  history: {
    title: (count: number) => `History (${formatPlural(count, 'change')})`,
    outcomes: {
      running: 'In progress',
      succeeded: 'Succeeded',
      rolled_back: 'Rolled back',
      failed: 'Failed',
      cancelled: 'Cancelled',
    },
    line: (action: string, version: string, environment: string) => `${action} ${version} in ${inWords(environment)}`,
    version: (version: number | undefined) => (version === undefined ? '' : `v${version}`),
    by: (who: string) => (who === 'on_arrival' ? 'on arrival' : who === 'rollback_if' ? 'automatically' : `by ${who}`),
  },
  here: {
    title: 'What runs here',
    nothing: 'No definition has a version here.',
    more: 'Only the first 500 are shown.',
  },
} as const

/** Text of the dialog that previews a change of a deployment, and of the preview in an approval. */
export const deploymentPlanStrings = {
  title: (action: string, environment: string) => `${action} in ${inWords(environment)}`,
  planning: 'Preparing the preview',
  runs: 'Runs now',
  wouldRun: 'Would run',
  nothing: 'Nothing',
  version: (version: number | null) => (version === null ? 'A deleted version' : `v${version}`),
  flow: (sources: readonly string[], sink: string) => `${sources.join(', ')} → ${sink}`,
  trigger: 'Trigger interval',
  checkpoint: { same: 'The same checkpoint', new: 'A new checkpoint' },
  checkpointLabel: 'Checkpoint',
  sources: 'Sources',
  starts: {
    continues: 'resumes from its checkpoint',
    beginning: 'is read from the beginning',
    later: 'is read from a later point',
  },
  fromHelp: 'A choice begins a new checkpoint, and may write rows a second time. The preview says which.',
  fromDefault: 'Where earlier pipelines of the definition stand, else from the beginning',
  source: (table: string, starts: string) => `${table} ${starts}`,
  consequences: 'Consequences',
  problems: 'Cannot deploy',
  problem: (message: string, node: string | null, parameter: string | null) =>
    [node === null ? undefined : `Node ${node}`, parameter === null ? undefined : `parameter ${parameter}`]
      .filter((part) => part !== undefined)
      .join(', ')
      .concat(node === null && parameter === null ? message : `: ${message}`),
  blocked: {
    table: (table: string) => `Open ${table}`,
    pipeline: 'Open the pipeline',
    stop: 'Stop the pipeline',
    definition: 'Open its deployments',
    node: 'Show the node',
    environments: 'Open the environments',
  },
  stale: 'Something changed since this preview.',
  again: 'Preview again',
  cancelWaiting: 'The rollout that waits for its change window is cancelled. The running version is not affected.',
  cancelled: 'The rollout is cancelled',
  abort: 'Rolls back to the previous version, which resumes from its checkpoint.',
  begun: {
    deploy: 'The rollout has begun',
    rollback: 'The rollback has begun',
    undeploy: 'The pipeline is being stopped',
  },
} as const

const upTo = (rows: number): string => `up to ${formatPlural(rows, 'row')}`

/** Text about rows that the sink of a deployment has already. */
export const knownRowsStrings = {
  label: 'Rows that the sink already has',
  has: (rows: number, tables: readonly string[]) =>
    `Earlier pipelines have written ${upTo(rows)} of ${tables.join(', ')} into the sink.`,
  resume: 'Read on after these rows',
  resumeHelp: 'Only rows that are not in the sink yet are written.',
  cannotResume: 'Several pipelines have each written their own part, so it is unknown where to read on.',
  fresh: (rows: number) => `Read everything again: write ${upTo(rows)} a second time`,
  freshHelp: 'The rows in the sink stay. Empty the sink first if you do not want duplicates.',
  notice: {
    blocked: (rows: number, tables: readonly string[]) =>
      `A deployment would write ${upTo(rows)} of ${tables.join(', ')} a second time. Choose what to do.`,
    repeated: (rows: number, tables: readonly string[]) =>
      `This deployment writes ${upTo(rows)} of ${tables.join(', ')} a second time.`,
  },
} as const
