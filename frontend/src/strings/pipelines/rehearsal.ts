import { formatCount, formatPlural } from '../everywhere/units.ts'

/** Text about what an approval would deploy. */
export const approvedDeploymentStrings = {
  title: 'Deployment',
  mode: {
    manual: 'An approval does not deploy the version: someone deploys it afterwards.',
    on_arrival: 'An approval deploys the version at once.',
  },
  unavailable: 'The deployment cannot be previewed now.',
  warnings: 'Warnings',
  changeTitle: (version: number) => `Changes from v${version}, which runs there`,
  noChange: (version: number) => `The same content as v${version}, which runs there.`,
  columns: {
    title: (table: string) => `Columns of ${table}`,
    missing: (table: string) => `Table ${table} does not exist yet.`,
    name: 'Column',
    type: 'Type',
    now: 'Filled now',
    next: 'Filled by this version',
    yes: 'Yes',
    no: 'No',
    notInTable: 'Not in the table',
  },
  configs: 'Configs with the parameters of the environment',
} as const

/** Text of rehearsals. */
export const rehearsalStrings = {
  title: 'Rehearsal',
  lead: 'Runs the requested version over the newest rows of its sources and compares the result. Writes to no table.',
  batches: 'Batches of each source',
  start: 'Start rehearsal',
  again: 'Rehearse again',
  cancel: 'Cancel',
  running: 'The versions are being compared',
  invalid: 'Give a whole number from 1 to 20',
  same: 'Both versions give the same rows.',
  none: 'There is no version to compare with.',
  notCompared: 'The version runs. There is no deployed version to compare it with.',
  differ: (candidate: number, base: number) =>
    `${formatPlural(candidate, 'row')} only in the requested version, ${formatPlural(base, 'row')} only in the other.`,
  rows: 'Rows',
  candidate: (version: number) => `v${version} (requested)`,
  base: (version: number, isRunning: boolean) =>
    isRunning ? `v${version} (runs there)` : `v${version} (newest there)`,
  baseProblem: (version: number) => `v${version} cannot run over these rows`,
  onlyCandidate: 'Rows only in the requested version',
  onlyBase: 'Rows only in the other version',
  samples: (shown: number, all: number) =>
    shown < all ? `${formatCount(shown)} of ${formatCount(all)}` : formatCount(all),
  secretsAsNames: 'A rehearsal uses the names of secrets instead of their values',
  truncated: 'Samples may be truncated.',
  approximate: 'Distinct counts are approximate.',
  columns: {
    title: 'Columns',
    name: 'Column',
    type: 'Type',
    nulls: 'Nulls',
    distinct: 'Distinct values',
    missing: 'none',
    text: 'compared as text',
    ignored: 'not compared',
  },
  checks: {
    title: 'Checks',
    name: 'Expectation',
    failed: 'Rows that fail',
    of: (failed: number, total: number) => `${formatCount(failed)} of ${formatCount(total)}`,
    stops: 'stops the pipeline',
    left: (diverted: number, dropped: number) =>
      `${formatPlural(diverted, 'row')} would be diverted, ${formatPlural(dropped, 'row')} dropped.`,
    label: (node: string, name: string) => `${node}: ${name}`,
  },
  inputs: 'Rows that were read',
  input: (table: string, rows: number, files: number) =>
    `${table}: ${formatPlural(rows, 'row')} in ${formatPlural(files, 'file')}`,
  incomplete: 'the limits left out some',
  limits: (files: number, rows: number, bytes: string) =>
    `At most ${formatPlural(files, 'file')}, ${formatPlural(rows, 'row')} and ${bytes} are read of each table.`,
  null: 'null',
} as const
