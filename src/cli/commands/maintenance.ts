import { CHOICES } from '../choices.ts'
import type { Call, Command, OptionSpec } from '../command.ts'
import { CommandError, UsageError } from '../errors.ts'
import { followOperation } from '../operation-progress.ts'
import { type Cell, sizeText } from '../text.ts'
import { JSON_OPTION, showPairs } from './show.ts'

interface Maintenance {
  readonly path: string
  readonly body: (call: Call) => Readonly<Record<string, unknown>>
  /** What a person confirms; undefined when nothing is taken away. */
  readonly asks?: string
}

interface Answer {
  readonly operation_id: string | null
  readonly details_json: string
  readonly plan_id?: string
}

type Details = Readonly<Record<string, unknown>>

const COMMON: Readonly<Record<string, OptionSpec>> = {
  'dry-run': { help: 'show the plan; changes nothing' },
  plan: { value: 'ID', help: 'apply exactly this plan of a dry run' },
  ...JSON_OPTION,
}
const ENGINE: Readonly<Record<string, OptionSpec>> = {
  engine: { value: 'ENGINE', choices: CHOICES.engine, help: 'auto (default), embedded or spark' },
}
const YES: Readonly<Record<string, OptionSpec>> = { yes: { help: 'do not ask' } }

/** Runs a maintenance request; with a confirmation, exactly what was shown is done. */
async function maintain(call: Call, { path, body, asks }: Maintenance): Promise<void> {
  const [table] = call.names
  const plan = call.text('plan')
  const request = plan === undefined ? { table, ...definedOf(body(call)) } : { table, plan_id: plan }
  if (call.isSet('dry-run')) return show(call, (await preview(call, path, request)).answer)
  if (asks === undefined || call.isSet('yes')) return run(call, path, request)
  const { ask } = call.terminal
  if (ask === undefined) throw new UsageError('add --yes: nobody can be asked here, or --dry-run to see the plan')
  const shown = await preview(call, path, request)
  show({ ...call, isSet: (name) => name !== 'json' && call.isSet(name) }, shown.answer)
  if (!/^y(es)?$/i.test(await ask(`${asks} [y/N] `))) throw new CommandError('nothing was changed')
  await run(call, path, { table, plan_id: shown.answer.plan_id })
}

async function preview({ api }: Call, path: string, request: Readonly<Record<string, unknown>>) {
  const { body } = await api.send('POST', path, { body: { ...request, dry_run: true } })
  return { answer: body as Answer }
}

async function run(call: Call, path: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const accepted = await call.api.send('POST', path, { body, headers: { Prefer: 'respond-async' } })
  const { operation_id: id } = accepted.body as { operation_id: string }
  const operation = await followOperation(call, id)
  showPairs(call, operation, [['operation', id], ...pairsOf((operation.result ?? {}) as Details)])
}

function show(call: Call, answer: Answer): void {
  const details = JSON.parse(answer.details_json) as Details
  const plan: [string, Cell][] = answer.plan_id === undefined ? [] : [['plan', answer.plan_id]]
  const planned = Object.entries(details).filter(([name]) => !KNOWN_AFTERWARDS.has(name))
  const pairs = pairsOf(Object.fromEntries(planned))
  showPairs(call, answer, [...plan, ...pairs.map(([label, value]): [string, Cell] => [plannedLabel(label), value])])
}

/** Numbers and texts of a result; the rest is in the JSON. */
function pairsOf(details: Details): [string, Cell][] {
  return Object.entries(details).flatMap(([name, value]): [string, Cell][] => {
    if (typeof value !== 'number' && typeof value !== 'string') return []
    const isSize = typeof value === 'number' && /_bytes(_|$)/.test(name)
    return [[name.replace(/_count$/, '').replaceAll('_', ' '), isSize ? sizeText(value) : value]]
  })
}

/** What only a finished operation has; a plan names the snapshot that it is made for. */
const KNOWN_AFTERWARDS: ReadonlySet<string> = new Set([
  'snapshot_id',
  'failed_data_files_count',
  'failed_deletions_count',
  'verify_ms',
  'commits_count',
])

/** What a finished operation has done, as what a plan would do. */
const WOULD: Readonly<Record<string, string>> = {
  rewritten: 'would rewrite',
  added: 'would add',
  removed: 'would remove',
  deleted: 'would delete',
  expired: 'would expire',
  kept: 'would keep',
  freed: 'would free',
  verified: 'would verify',
}
const WOULD_OF_ROWS: Readonly<Record<string, string>> = {
  'rows read': 'would read rows',
  'rows deleted': 'would drop deleted rows',
  'rows written': 'would write rows',
}

function plannedLabel(label: string): string {
  const [first = '', ...others] = label.split(' ')
  return WOULD_OF_ROWS[label] ?? [WOULD[first] ?? first, ...others].join(' ')
}

function definedOf(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

export const compact: Command = {
  summary: 'rewrites small files and files with deletes into fewer, larger ones',
  takesCatalog: true,
  names: ['TABLE'],
  options: {
    'rewrite-all': { help: 'rewrite all files' },
    where: {
      value: 'CONDITION',
      help: 'whole partitions by their source columns, such as "started_at >= \'2026-03-01\'"',
    },
    'sort-order': { value: 'ORDER', help: 'sort rows, such as "customer ASC"' },
    'target-file-size': { value: 'BYTES', help: 'size of the new files' },
    ...ENGINE,
    ...COMMON,
  },
  examples: ['lockhouse compact demo.events --dry-run', 'lockhouse compact demo.events'],
  run: (call) =>
    maintain(call, {
      path: '/api/compact',
      body: ({ text, isSet, number }) => ({
        rewrite_all: isSet('rewrite-all') || undefined,
        where: text('where'),
        sort_order: text('sort-order'),
        strategy: text('sort-order') === undefined ? undefined : 'sort',
        target_file_size_bytes: number('target-file-size'),
        engine: text('engine'),
      }),
    }),
}

const OLDER_THAN: OptionSpec = { value: 'TIME', help: 'such as 2026-01-31T00:00:00Z' }

export const expire: Command = {
  summary: 'expires old snapshots and deletes the files that only they use',
  takesCatalog: true,
  names: ['TABLE'],
  options: {
    'older-than': OLDER_THAN,
    'retain-last': { value: 'NUMBER', help: 'always keep this many snapshots' },
    ...YES,
    ...COMMON,
  },
  examples: ['lockhouse expire demo.events --retain-last 5 --dry-run', 'lockhouse expire demo.events --yes'],
  run: (call) =>
    maintain(call, {
      path: '/api/expire',
      asks: 'Expire these snapshots?',
      body: ({ text, number }) => ({ older_than: text('older-than'), retain_last: number('retain-last') }),
    }),
}

export const rewriteManifests: Command = {
  summary: 'merges manifests to their target size',
  takesCatalog: true,
  names: ['TABLE'],
  options: { ...ENGINE, ...COMMON },
  examples: ['lockhouse rewrite-manifests demo.events'],
  run: (call) => maintain(call, { path: '/api/rewrite-manifests', body: ({ text }) => ({ engine: text('engine') }) }),
}

export const removeOrphans: Command = {
  summary: 'deletes files of a table that no snapshot uses',
  takesCatalog: true,
  names: ['TABLE'],
  options: { 'older-than': OLDER_THAN, ...ENGINE, ...YES, ...COMMON },
  examples: ['lockhouse remove-orphans demo.events --dry-run'],
  run: (call) =>
    maintain(call, {
      path: '/api/remove-orphans',
      asks: 'Delete these files?',
      body: ({ text }) => ({ older_than: text('older-than'), engine: text('engine') }),
    }),
}
