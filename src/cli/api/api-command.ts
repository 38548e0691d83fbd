import type { Call, Command, OptionSpec } from '../command.ts'
import { JSON_OPTION } from '../show.ts'
import { CommandError, UsageError } from '../errors.ts'
import { type AnswerView, type ColumnSpec, showAnswer, showList } from './answer.ts'
import {
  type AnswerField,
  type BodyField,
  type Endpoint,
  type EndpointId,
  endpointOf,
  filledPath,
  isBodyField,
  type ListName,
  pathParameters,
  type RowField,
} from '../endpoint.ts'
import { plainText } from '../text.ts'
import { fieldOptions, givenFields, readJsonFile, simpleFields } from './fields.ts'
import { listAll } from './pages.ts'
import { type Ids, parameterWord, resolveIds } from './parameters.ts'

/** What a command adds to its route. The rest is the route's: summary, arguments, options, choices and request. */
interface CommonSpec {
  /** Default: the summary of the route. */
  readonly summary?: string
  readonly examples: readonly string[]
  /** Parameters of the path at its end that may be left out. */
  readonly optional?: readonly string[]
  /** Whether it can work on a catalog without a service. */
  readonly takesCatalog?: true
}

type Answer = Readonly<Record<string, unknown>>

/** A command that lists entries. */
export interface ListSpec<Id extends EndpointId> extends CommonSpec {
  readonly columns: readonly ColumnSpec<RowField<Id, ListName<Id>>>[]
  /** What is said when there are no entries. */
  readonly none: string
  /** Entries without `--limit`; undefined: all. */
  readonly limit?: number
}

/** A command that shows or changes one thing. */
export interface CallSpec<Id extends EndpointId> extends CommonSpec {
  /** Fields of the body that are arguments, after those of the path; the last one may be left out when it is optional there. */
  readonly words?: readonly BodyField<Id>[]
  /** Whether an argument after these names a file with the body; options go before what is in the file. */
  readonly file?: 'required' | 'optional'
  /** Members of the file that the request does not have, and that are left out. */
  readonly ignores?: readonly string[]
  /** The member of the answer that is shown. */
  readonly inside?: AnswerField<Id>
  /** The fields that are shown, some with a name of their own; undefined: all. */
  readonly fields?: readonly ColumnSpec<AnswerField<Id>>[]
  readonly except?: readonly AnswerField<Id>[]
  readonly tables?: { readonly [List in ListName<Id>]?: readonly ColumnSpec<RowField<Id, List>>[] }
  /** A question that has to be confirmed, or `--yes`; each `{}` is the next argument. */
  readonly confirm?: string
  /** What is said instead of an answer; each `{}` is the next argument. */
  readonly done?: string
  /** What to do next, for people; undefined: nothing. */
  readonly next?: (answer: Answer) => string | undefined
  /** Why the command failed although the service answered; undefined when it did not. */
  readonly fails?: (answer: Answer) => string | undefined
  /** Work after the answer was shown. */
  readonly after?: (call: Call, answer: Answer) => Promise<void>
}

/** The option of commands that ask. */
export const YES_OPTION: Readonly<Record<string, OptionSpec>> = { yes: { help: 'do not ask' } }

/** A command that lists what a route lists. */
export function listCommand<Id extends EndpointId>(id: Id, spec: ListSpec<Id>): Command {
  const endpoint = endpointOf(id)
  const names = pathParameters(endpoint.path)
  const limitHelp =
    spec.limit === undefined ? 'entries at most; default: all' : `entries at most; default ${spec.limit}`
  return {
    ...commonParts(id, spec),
    names: names.map(parameterWord),
    options: {
      ...fieldOptions(queryFields(endpoint)),
      ...(endpoint.paged === undefined ? {} : { limit: { value: 'NUMBER', help: limitHelp } }),
      ...JSON_OPTION,
    },
    async run(call) {
      const ids = await resolveIds(call, names, call.names)
      const limit = limitOf(call) ?? spec.limit
      const listed = await listAll(call, id, { ids, query: queryOf(call, endpoint), limit })
      showList(call, listed.answer, {
        rows: listed.rows,
        columns: spec.columns,
        none: spec.none,
      })
      if (listed.hasMore) call.terminal.note(`there are more than these ${listed.rows.length}: use a higher --limit`)
    },
  }
}

/** A command that calls a route once. */
export function callCommand<Id extends EndpointId>(id: Id, spec: CallSpec<Id>): Command {
  const endpoint = endpointOf(id)
  const parameters = pathParameters(endpoint.path)
  const fields = simpleFields(endpoint, spec.words ?? [])
  return {
    ...commonParts(id, spec),
    names: argumentNames(endpoint, spec),
    options: {
      ...fieldOptions(queryFields(endpoint)),
      ...fieldOptions(spec.file === undefined ? fields : optionalFields(fields)),
      ...(spec.confirm === undefined ? {} : YES_OPTION),
      ...JSON_OPTION,
    },
    async run(call) {
      if (spec.confirm !== undefined) requireAnswer(call)
      const body = endpoint.method === 'GET' ? undefined : await bodyOf(call, endpoint, spec)
      const ids = await resolveIds(call, parameters, call.names)
      if (spec.confirm !== undefined && body?.['dry_run'] !== true) await confirmed(call, withNames(spec.confirm, call))
      const answer = await answerOf(call, { id, ids, body })
      if (spec.done !== undefined) return call.terminal.note(withNames(spec.done, call))
      showAnswer(call, answer, spec as AnswerView)
      endWith(call, spec, answer as Answer)
      await spec.after?.(call, answer as Answer)
    },
  }
}

interface Sent {
  readonly id: EndpointId
  readonly ids: Ids
  readonly body: Readonly<Record<string, unknown>> | undefined
}

/** The answer of a route, with the entries of all its pages. */
async function answerOf(call: Call, { id, ids, body }: Sent): Promise<unknown> {
  const endpoint = endpointOf(id)
  const query = queryOf(call, endpoint)
  if (endpoint.paged !== undefined) return (await listAll(call, id, { ids, query })).answer
  const path = filledPath(endpoint.path, ids)
  return (await call.api.send(endpoint.method, path, { query, body: isSent(endpoint, body) ? body : undefined })).body
}

/** Says what to do next. Throws {@link CommandError} when the answer means that the command failed. */
function endWith(call: Call, { next, fails }: Pick<CallSpec<never>, 'next' | 'fails'>, answer: Answer): void {
  const hint = call.isSet('json') ? undefined : next?.(answer)
  if (hint !== undefined) call.terminal.note(plainText(hint))
  const failure = fails?.(answer)
  if (failure !== undefined) throw new CommandError(failure)
}

function isSent({ body: fields }: Endpoint, body: Readonly<Record<string, unknown>> | undefined): boolean {
  return body !== undefined && (Object.keys(fields).length > 0 || Object.keys(body).length > 0)
}

function commonParts(id: EndpointId, { summary, examples, takesCatalog }: CommonSpec) {
  return {
    summary: summary ?? commandSummary(endpointOf(id)),
    examples,
    endpoints: [id],
    ...(takesCatalog === undefined ? {} : { takesCatalog }),
  }
}

/** The summary of a route as that of a command: imperative, with a small letter. */
function commandSummary({ method, summary, paged }: Endpoint): string {
  const verb = method !== 'GET' ? '' : paged === undefined ? 'show ' : 'list '
  return `${verb}${summary.charAt(0).toLowerCase()}${summary.slice(1)}`
}

/** Fields of which a file may have those that are required. */
function optionalFields(fields: Endpoint['body']): Endpoint['body'] {
  const entries = Object.entries(fields).map(([name, field]) => {
    const { kind, choices, help } = field
    return [name, { kind, ...(choices && { choices }), ...(help === undefined ? {} : { help }) }] as const
  })
  return Object.fromEntries(entries)
}

interface ArgumentSpec {
  readonly words?: readonly string[]
  readonly file?: 'required' | 'optional'
  readonly optional?: readonly string[]
}

function argumentNames({ path, body }: Endpoint, { words = [], file, optional = [] }: ArgumentSpec): readonly string[] {
  const ofPath = pathParameters(path).map((name) =>
    optional.includes(name) ? `[${parameterWord(name)}]` : parameterWord(name),
  )
  const ofBody = words.map((name) => {
    const word = name.replaceAll('_', '-').toUpperCase()
    return body[name]?.required === true ? word : `[${word}]`
  })
  const ofFile = file === undefined ? [] : [file === 'required' ? 'FILE' : '[FILE]']
  return [...ofPath, ...ofBody, ...ofFile]
}

/** `--catalog` opens the catalog of a file, without a service. */
const OPTION_OF_CATALOG = 'in_catalog'

/** The fields of a query that are options; a list has `--limit` for all its pages. */
export function queryFields({ query, paged }: Endpoint): Endpoint['query'] {
  const kept = Object.entries(query).filter(([name]) => paged === undefined || name !== 'limit')
  return Object.fromEntries(kept.map(([name, field]) => [name === 'catalog' ? OPTION_OF_CATALOG : name, field]))
}

/** The query that the options of a command stand for. */
export function queryOf(call: Call, endpoint: Endpoint): Readonly<Record<string, string>> {
  const given = givenFields(call, queryFields(endpoint))
  const fieldOf = (option: string): string => (option === OPTION_OF_CATALOG ? 'catalog' : option)
  return Object.fromEntries(Object.entries(given).map(([option, value]) => [fieldOf(option), String(value)]))
}

/** The number of entries that a list may have; undefined: not given. Throws {@link UsageError} for 0. */
export function limitOf(call: Call): number | undefined {
  const limit = call.number('limit')
  if (limit === 0) throw new UsageError('--limit must be 1 or more')
  return limit
}

/** The body that arguments, options and the file of a command stand for. */
async function bodyOf(call: Call, endpoint: Endpoint, spec: ArgumentSpec & { readonly ignores?: readonly string[] }) {
  const given = call.names.slice(pathParameters(endpoint.path).length)
  const { words = [], file: hasFile, ignores = [] } = spec
  const ofWords = words.flatMap((name, at) =>
    given[at] === undefined ? [] : [[name, wordValue(endpoint, name, given[at])]],
  )
  const file = hasFile === undefined ? undefined : given[words.length]
  const ofFile = file === undefined ? {} : await readJsonFile(file)
  const kept = Object.entries(ofFile).filter(([name]) => isBodyField(endpoint, name) || !ignores.includes(name))
  const fields = simpleFields(endpoint, words)
  const body = { ...Object.fromEntries(kept), ...Object.fromEntries(ofWords), ...givenFields(call, fields) }
  if (hasFile === undefined) requireFields(fields, body)
  return body
}

function wordValue({ body }: Endpoint, name: string, word: string): unknown {
  return body[name]?.kind === 'list' ? word.split(',') : word
}

function requireFields(fields: Endpoint['body'], body: Readonly<Record<string, unknown>>): void {
  const missing = Object.entries(fields).find(([name, { required }]) => required === true && body[name] === undefined)
  if (missing !== undefined)
    throw new UsageError(`--${Object.keys(fieldOptions(Object.fromEntries([missing])))[0] ?? ''} is missing`)
}

/** Throws {@link UsageError} where nobody can be asked and `--yes` is missing; a dry run asks nothing. */
export function requireAnswer({ terminal: { ask }, isSet }: Call): void {
  if (!isSet('yes') && !isSet('dry-run') && ask === undefined)
    throw new UsageError('add --yes: nobody can be asked here')
}

/** Asks on a terminal. Throws {@link CommandError} when the answer is not yes. */
export async function confirmed({ terminal: { ask }, isSet }: Call, question: string): Promise<void> {
  if (isSet('yes') || ask === undefined) return
  if (!/^y(es)?$/i.test(await ask(`${question} [y/N] `))) throw new CommandError('nothing was changed')
}

function withNames(text: string, { names }: Call): string {
  const left = [...names]
  return text.replaceAll('{}', () => plainText(left.shift() ?? ''))
}
