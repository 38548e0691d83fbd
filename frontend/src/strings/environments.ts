import { catalogPatternHelp } from './everywhere/common.ts'

/** Names of environments, as headings. */
export const environments = {
  development: 'Development',
  qa: 'QA',
  uat: 'UAT',
  production: 'Production',
  retired: 'Retired',
} as const

/** The name of an environment inside a sentence: `QA`, `production`. */
export function inWords(environment: string): string {
  return environment === 'qa' || environment === 'uat' ? environment.toUpperCase() : environment
}

/** Text of the page about the environments. */
export const environmentStrings = {
  title: 'Environments',
  lead: 'Parameters, write rules and defaults of the environments in which versions run.',
  readOnly: 'Only a lead data engineer can change environments.',
  edit: 'Edit',
  editOne: (name: string) => `Edit ${name}`,
  parameters: 'Parameters',
  noParameters: 'No parameters.',
  types: { text: 'Text', number: 'Number', boolean: 'True or false', secret: 'Secret' },
  emptyText: 'empty',
  secretHelp: 'An environment variable of the server. Its value is never shown.',
  writes: 'Write rules',
  writesAll: 'Versions may write to every table.',
  writesNone: 'Versions may not write to any table.',
  writesSome: 'Versions may write only to tables that match:',
  deploy: 'Deployment',
  deployModes: { manual: 'Manual', on_arrival: 'On arrival' },
  deployHelp: {
    manual: 'Versions are deployed manually.',
    on_arrival: 'Each version is deployed when it arrives.',
  },
  defaults: 'Defaults of deployed pipelines',
  fields: {
    trigger_interval: 'Trigger interval',
    checkpoint_root: 'Checkpoint folder',
    max_files_per_batch: 'Max files per batch',
    max_bytes_per_batch: 'Max bytes per batch',
    engine: 'Engine',
  },
  engines: { auto: 'Automatic', embedded: 'Embedded', spark: 'Spark' },
  changed: 'Last updated',
  neverChanged: 'Default settings, never changed',
} as const

/** Text about the rules for moves into an environment and deployments there. */
export const environmentRules = {
  approvals: 'Approvals',
  noApproval: 'Versions move here without approval.',
  required: (count: number) => (count === 1 ? '1 approval' : `${count} approvals of different users`),
  forbidSelf: 'Requesters cannot approve their own requests',
  expires: (after: string) => `Requests expire after ${after}`,
  windows: 'Change windows',
  noWindows: 'Changes are possible at any time.',
  kinds: { allow: 'Allow changes', deny: 'Deny changes' },
  window: (kind: string, time: string) => `${kind}: ${time}`,
  onDates: (time: string, dates: string) => `${time}, on ${dates}`,
  rollback: 'Automatic rollback',
  noRollback: 'Deployments are not rolled back automatically.',
  failedBatches: (count: number) => (count === 1 ? 'a batch fails' : `${count} batches fail in a row`),
  lagOver: (lag: string) => `the lag is over ${lag}`,
  rollbackIf: (conditions: readonly string[], within: string) =>
    `If ${conditions.join(' or ')} within ${within} after a rollout`,
} as const

/** Text of the form that changes an environment. */
export const environmentForm = {
  title: (name: string) => `Edit ${name}`,
  parametersHelp: 'Versions use a parameter as ${name} in the configs of their nodes.',
  name: 'Name',
  nameOf: (position: number) => `Name of parameter ${position}`,
  typeOf: (name: string) => `Type of ${name === '' ? 'this parameter' : name}`,
  valueOf: (name: string) => `Value of ${name === '' ? 'this parameter' : name}`,
  value: 'Value',
  variable: 'LAKE_API_KEY',
  booleans: { true: 'true', false: 'false' },
  secretHelp:
    'Secret: the name of an environment variable of the server. It must start with LAKE_ or be listed in CONFIG_ENV_ALLOW.',
  add: 'Add parameter',
  remove: (name: string) => `Remove ${name === '' ? 'this parameter' : name}`,
  writesHelp:
    'Table names, one per line. * stands for any characters. If empty, versions may not write to any table. In tables that UAT or production lists here, only leads may change rows over the Iceberg REST catalog. ' +
    catalogPatternHelp,
  intervalHelp: 'Number and unit (ms, s, min, h), from 100 ms to 24 h.',
  checkpointHelp: 'Folder of the checkpoints of deployed pipelines.',
  bytes: (size: string) => `${size} per batch`,
  rules: {
    required: 'Required approvals',
    requiredHelp: 'Approvals of different lead data engineers, 1 to 5. Open requests follow this rule too.',
    expiresAfter: 'Requests expire after',
    expiresHelp: 'For example: 3 days. Empty: never.',
    forbidSelf: 'Requesters cannot approve their own requests',
    windowsHelp:
      'Outside of these windows, approved moves and deployments wait. Windows that deny changes win over windows that allow changes.',
    window: (position: number) => `Window ${position}`,
    kind: 'Kind',
    timezone: 'Time zone',
    from: 'From',
    to: 'To',
    days: 'Days',
    dates: 'Dates',
    datesHelp: 'One per line: 2026-12-24, or 2026-12-24/2027-01-02. Empty: every date.',
    addWindow: 'Add window',
    removeWindow: (position: number) => `Remove window ${position}`,
    rollbackHelp: 'A deployment that replaced another version is rolled back if its pipeline fails or falls behind.',
    failedBatches: 'Failed batches in a row',
    failedBatchesHelp: 'Empty: batches may fail.',
    lagOver: 'Lag over',
    lagHelp: 'For example: 15 minutes. Empty: any lag is accepted.',
    within: 'Within',
    withinHelp: 'Time after the rollout, at most 7 days.',
  },
  save: 'Save',
  saved: (name: string) => `${name} saved`,
  unchanged: 'Nothing was changed.',
  failed: 'Failed to save',
  problems: {
    nameless: 'Enter a name, or remove this parameter.',
    twice: 'Duplicate name.',
    variable: 'Enter the name of a variable.',
    asSecret: 'Choose the type Secret for a value that starts with env:.',
    dates: 'Enter one date per line, such as 2026-12-24, or a range such as 2026-12-24/2027-01-02.',
    inexact: 'This number has too many digits to be stored exactly. Use the type Text.',
  },
  conflict: {
    title: 'Someone else changed this environment',
    text: 'Nothing was saved. Your input is still in the form.',
    theirs: (fields: string) => `Changed meanwhile: ${fields}.`,
    loading: 'Loading the current settings …',
    keep: 'Reload and keep my changes',
    discard: 'Reload and discard my changes',
    kept: 'Current settings loaded. Your changes are kept. Review them before you save.',
  },
} as const
