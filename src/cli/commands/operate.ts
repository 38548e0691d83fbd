import {
  type FieldOf,
  operationEntry,
  OPERATIONS,
  type RequestedKind,
  REQUESTED_KINDS,
} from '../../domain/tables/operations.ts'
import type { z } from 'zod'
import type { changeImpact } from '../../schemas/lineage.ts'
import { endpointOf } from '../endpoint.ts'
import type { Call, Command, OptionSpec } from '../command.ts'
import { CommandError, UsageError } from '../errors.ts'
import { followOperation } from '../operation-progress.ts'
import { type Cell, completeTime, sizeText, textList } from '../text.ts'
import { JSON_OPTION, showPairs } from '../show.ts'

type Field = FieldOf<RequestedKind>

/** How a field of a request is written: as an option, and the function that reads its value. */
interface FieldOption extends OptionSpec {
  readonly read: (call: Call, option: string) => unknown
}

const flag = (help: string): FieldOption => ({ help, read: (call, option) => call.isSet(option) || undefined })
const text = (value: string, help: string): FieldOption => ({ value, help, read: (call, option) => call.text(option) })
const time = (value: string, help: string): FieldOption => ({
  value,
  help,
  read: (call, option) => completeTime(call.text(option)),
})
const number = (value: string, help: string): FieldOption => ({
  value,
  help,
  read: (call, option) => call.number(option),
})
const list = (value: string, help: string): FieldOption => ({
  value,
  help,
  read: (call, option) => call.text(option)?.split(','),
})

/** A field of which the route of a compaction names the choices. */
const choice = (value: string, help: string, field: string): FieldOption => {
  const { choices = [] } = endpointOf('compactTable').body[field] ?? {}
  return { ...text(value, help), choices }
}

/** Fields of all requests; the compiler asks for those of a new operation. */
const FIELDS: Readonly<Record<Field, FieldOption>> = {
  strategy: choice('STRATEGY', 'binpack (default), sort, zorder or hilbert', 'strategy'),
  sort_order: text('ORDER', 'sort rows, such as "customer ASC"'),
  columns: list('COLUMN,COLUMN', 'columns of zorder and hilbert; default: those of lockhouse.cluster-by'),
  where: text('CONDITION', 'files that may have such rows, such as "started_at >= \'2026-03-01\'"'),
  method: choice('METHOD', 'auto (default), rewrite, or copy row groups unchanged', 'method'),
  min_row_group_size_bytes: number('BYTES', 'smaller row groups are rewritten (default 8 MiB)'),
  target_file_size_bytes: number('BYTES', 'size of the new files'),
  min_file_size_bytes: number('BYTES', 'smaller files are rewritten'),
  max_file_size_bytes: number('BYTES', 'larger files are rewritten'),
  min_input_files: number('NUMBER', 'rewrite a group of at least this many files'),
  delete_file_threshold: number('NUMBER', 'rewrite files with at least this many delete files'),
  delete_ratio_threshold: {
    ...text('RATIO', 'rewrite files with at least this share of deleted rows'),
    read: readRatio,
  },
  max_files_to_rewrite: number('NUMBER', 'rewrite at most this many files'),
  max_bytes_to_rewrite: number('BYTES', 'rewrite at most so many bytes, files that overlap most first'),
  verify: choice('CHECK', 'values (default) or counts: what is compared before the commit', 'verify'),
  on_conflict: choice('HANDLING', 'carry_over (default) or fail: deletes that others commit meanwhile', 'on_conflict'),
  rewrite_all: flag('rewrite all files'),
  partial_progress: flag('commit in several steps'),
  engine: choice('ENGINE', 'auto (default), embedded or spark', 'engine'),
  older_than: time('TIME', 'such as 2026-01-31T00:00:00Z'),
  retain_last: number('NUMBER', 'always keep this many snapshots'),
  snapshot_ids: list('ID,ID', 'expire exactly these snapshots'),
  clean_expired_metadata: flag('also remove schemas and partition specs that no snapshot uses'),
  delete_foreign_files: flag("leads only: also delete files outside of the table's folders"),
  name: text('COLUMN', 'a dotted name is a field of a struct'),
  type: text('TYPE', 'such as STRING'),
  first: flag('put the column first'),
  after: text('COLUMN', 'put the column after this one'),
  comment: text('TEXT', 'a description of the column'),
  new_name: text('NAME', 'the new name, without the struct'),
  force: flag('leads only: even if versions in uat or production use the column'),
  snapshot_id: text('ID', 'the snapshot to return to'),
  to_timestamp: time('TIME', 'in place of a snapshot: return to the state at this time, such as 2026-01-31T14:05Z'),
  accept_pipelines: list('ID,ID', 'stopped pipelines that the rollback may break'),
}

/** Fields that are written as arguments after the table. */
const ARGUMENTS: { readonly [Kind in RequestedKind]?: readonly FieldOf<Kind>[] } = {
  add_column: ['name', 'type'],
  rename_column: ['name', 'new_name'],
  drop_column: ['name'],
  rollback: ['snapshot_id'],
}

/** Options that may be given in place of an argument. */
const ALTERNATIVES: { readonly [Name in Field]?: Field } = { snapshot_id: 'to_timestamp' }

/** Command lines for the help. */
const EXAMPLES: Readonly<Record<RequestedKind, readonly string[]>> = {
  compact: ['lockhouse compact demo.events --dry-run', 'lockhouse compact demo.events'],
  convert_deletes: ['lockhouse convert-deletes demo.events --dry-run'],
  rewrite_position_deletes: ['lockhouse rewrite-position-deletes demo.events --dry-run'],
  rewrite_manifests: ['lockhouse rewrite-manifests demo.events'],
  expire: ['lockhouse expire demo.events --retain-last 5 --dry-run', 'lockhouse expire demo.events --yes'],
  remove_orphans: ['lockhouse remove-orphans demo.events --dry-run'],
  add_column: ['lockhouse add-column demo.events country string --after city'],
  rename_column: ['lockhouse rename-column demo.events country country_code'],
  drop_column: ['lockhouse drop-column demo.events country --dry-run'],
  rollback: [
    'lockhouse rollback demo.events 3051729675574597004 --dry-run',
    'lockhouse rollback demo.events --to 2026-01-31T14:05Z --dry-run',
  ],
}

/** The command of each operation, by its name. */
export const operationCommands: Readonly<Record<string, Command>> = Object.fromEntries(
  REQUESTED_KINDS.map((kind) => [kind.replaceAll('_', '-'), operationCommand(kind)]),
)

function operationCommand(kind: RequestedKind): Command {
  const { summary, request } = OPERATIONS[kind]
  const names: readonly Field[] = ARGUMENTS[kind] ?? []
  const options = request.fields.filter((field) => !names.includes(field))
  return {
    summary: `${summary.charAt(0).toLowerCase()}${summary.slice(1)}`,
    // Only a service knows the pipelines and versions that use a column or a snapshot.
    ...(operationEntry(kind).byPolicy === true ? { takesCatalog: true } : {}),
    // A plan has them already.
    names: ['TABLE', ...names.map((name) => `[${name.replaceAll('_', '-').toUpperCase()}]`)],
    options: {
      ...Object.fromEntries(options.map((field) => [optionName(field), FIELDS[field]])),
      ...(isDestructive(kind) ? { yes: { help: 'do not ask' } } : {}),
      'dry-run': { help: 'show the plan; changes nothing' },
      plan: { value: 'ID', help: 'apply exactly this plan of a dry run' },
      ...JSON_OPTION,
    },
    examples: EXAMPLES[kind],
    endpoints: [request.id],
    run: (call) => maintain(call, kind, { names, options }),
  }
}

/** Options need no unit: sizes are in bytes, and times have their zone. */
function optionName(field: Field): string {
  return field.replace(/_(bytes|timestamp)$/, '').replaceAll('_', '-')
}

function readRatio(call: Call, option: string): number | undefined {
  const given = call.text(option)
  if (given === undefined) return undefined
  const ratio = Number(given)
  if (!(ratio > 0 && ratio <= 1)) throw new UsageError(`--${option} must be a number above 0 and at most 1`)
  return ratio
}

function isDestructive(kind: RequestedKind): boolean {
  return operationEntry(kind).risk === 'destructive'
}

interface Fields {
  readonly names: readonly Field[]
  readonly options: readonly Field[]
}

interface Answer {
  readonly operation_id: string | null
  readonly details_json: string
  readonly plan_id?: string
}

type Impact = z.infer<typeof changeImpact>
type User = Impact['used_by'][number]
type Details = Readonly<Record<string, unknown>>

/** Runs an operation; with a confirmation, exactly what was shown is done. */
async function maintain(call: Call, kind: RequestedKind, fields: Fields): Promise<void> {
  const [table] = call.names
  const { path } = OPERATIONS[kind].request
  const request = requestOf(call, fields)
  if (call.isSet('dry-run')) return previewOperation(call, path, request)
  if (!isDestructive(kind) || call.isSet('yes')) return runOperation(call, path, request)
  const { ask } = call.terminal
  if (ask === undefined) throw new UsageError('add --yes: nobody can be asked here, or --dry-run to see the plan')
  const shown = await preview(call, path, request)
  // The plan belongs to the question: standard output has only the result.
  call.terminal.note(textList(planPairs(shown.answer)))
  if (!/^y(es)?$/i.test(await ask('Apply this plan? [y/N] '))) throw new CommandError('nothing was changed')
  await runOperation(call, path, { table, plan_id: shown.answer.plan_id })
}

/** The request that the command line stands for; throws {@link UsageError} when an argument is missing. */
function requestOf(call: Call, { names, options }: Fields): Readonly<Record<string, unknown>> {
  const [table, ...given] = call.names
  const plan = call.text('plan')
  const missing = names[given.length]
  if (missing !== undefined && plan === undefined) requireAlternative(call, missing)
  const all = [
    ...names.map((name, at) => [name, given[at]] as const),
    ...options.map((field) => [field, FIELDS[field].read(call, optionName(field))] as const),
  ]
  // the service refuses what differs from the plan
  return { table, plan_id: plan, ...Object.fromEntries(all.filter(([, value]) => value !== undefined)) }
}

/** Throws {@link UsageError} when neither an argument nor its alternative is given. */
function requireAlternative(call: Call, missing: Field): void {
  const name = missing.replaceAll('_', '-').toUpperCase()
  const option = ALTERNATIVES[missing]
  if (option === undefined) throw new UsageError(`${name} is missing`)
  if (call.text(optionName(option)) === undefined) throw new UsageError(`${name} or --${optionName(option)} is missing`)
}

async function preview({ api }: Call, path: string, request: Readonly<Record<string, unknown>>) {
  const { body } = await api.send('POST', path, { body: { ...request, dry_run: true } })
  return { answer: body as Answer }
}

/** Shows the plan of a request, and changes nothing. */
export async function previewOperation(
  call: Call,
  path: string,
  request: Readonly<Record<string, unknown>>,
): Promise<void> {
  show(call, (await preview(call, path, request)).answer)
}

/** Starts an operation and shows its progress, then its result. */
export async function runOperation(call: Call, path: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const accepted = await call.api.send('POST', path, { body, headers: { Prefer: 'respond-async' } })
  const { operation_id: id } = accepted.body as { operation_id: string }
  const operation = await followOperation(call, id)
  showPairs(call, operation, [['operation', id], ...pairsOf((operation.result ?? {}) as Details)])
}

function show(call: Call, answer: Answer): void {
  showPairs(call, answer, planPairs(answer))
}

function planPairs(answer: Answer): readonly [string, Cell][] {
  const details = JSON.parse(answer.details_json) as Details
  const plan: [string, Cell][] = answer.plan_id === undefined ? [] : [['plan', answer.plan_id]]
  const planned = Object.entries(details).filter(([name]) => !KNOWN_AFTERWARDS.has(name))
  const pairs = pairsOf(Object.fromEntries(planned))
  return [
    ...plan,
    ...pairs.map(([label, value]): [string, Cell] => [plannedLabel(label), value]),
    ...impactPairs(details['impact'] as Impact | undefined),
  ]
}

/** Who uses the table or column that a plan changes; none for a plan that no pipeline notices. */
function impactPairs(impact: Impact | undefined): [string, Cell][] {
  if (impact === undefined) return []
  const users = impact.used_by.map((user) => userText(user, impact.column))
  if (users.length === 0) return [['used by', 'no pipeline and no version']]
  return [...users, ...(impact.truncated ? ['and more'] : [])].map((text): [string, Cell] => ['used by', text])
}

function userText(
  { pipeline_id: id, state, definition, version, environment, ...use }: User,
  column: string | null,
): string {
  const name = definition === null ? 'copy' : `${definition} v${version}`
  const place = environment === null ? '' : ` in ${environment}`
  const who = id === null ? `${name}${place} (not running)` : `${id}, ${name}${place} (${state})`
  const uses = [useText('read', use.reads, column), useText('write', use.writes, column)]
  return `${who}: ${uses.filter((text) => text !== '').join(', ')}`
}

function useText(verb: 'read' | 'write', certainty: User['reads'], column: string | null): string {
  if (certainty === null) return ''
  if (column === null) return `${verb}s the table`
  const texts = {
    yes: `may ${verb} ${column}`,
    no: `does not ${verb} ${column}`,
    unknown: `may ${verb} ${column}: its columns are unknown`,
  }
  return texts[certainty]
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
  converted: 'would convert',
  added: 'would add',
  read: 'would read',
  searched: 'would search',
  removed: 'would remove',
  deleted: 'would delete',
  expired: 'would expire',
  kept: 'would keep',
  freed: 'would free',
  undone: 'would undo',
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
