import type { Call } from '../command.ts'
import { CommandError, UsageError } from '../errors.ts'
import { listAll } from './pages.ts'

/** A parameter of a path, as an argument of a command. */
interface Parameter {
  readonly word: string
  /** The id for what was written; `ids` has the parameters before it. Default: what was written is the id. */
  readonly resolve?: (call: Call, word: string | undefined, ids: Ids) => Promise<string>
}

/** Values of the parameters of a path. */
export type Ids = Readonly<Record<string, string>>

interface Named {
  readonly id: string
  readonly name: string
}

const VERSION: Parameter = { word: 'VERSION', resolve: versionId }

/** Every parameter of a path of the API. */
const PARAMETERS: Readonly<Record<string, Parameter>> = {
  table_name: { word: 'TABLE' },
  def_id: { word: 'DEFINITION', resolve: (call, word) => definitionId(call, word ?? '') },
  ver_id: VERSION,
  a: VERSION,
  b: VERSION,
  policy_id: {
    word: 'POLICY',
    resolve: async (call, word) => idByName('policy', word ?? '', (await listAll(call, 'listPolicies', {})).rows),
  },
  alert_id: {
    word: 'ALERT',
    resolve: async (call, word) => idByName('alert', word ?? '', (await listAll(call, 'listAlerts', {})).rows),
  },
  pipeline_id: { word: 'PIPELINE', resolve: (call, word) => pipelineId(call, word ?? '') },
  operation_id: { word: 'OPERATION' },
  quarantine_id: { word: 'ENTRY' },
  req_id: { word: 'REQUEST' },
  environment: { word: 'ENVIRONMENT' },
  token_id: { word: 'TOKEN' },
  chat_id: { word: 'CHAT' },
  action_id: { word: 'ACTION' },
}

/** What stands for a parameter in the help, such as `TABLE`. */
export function parameterWord(name: string): string {
  return PARAMETERS[name]?.word ?? name.toUpperCase()
}

/** The ids that the words of a command line stand for: a name stands for the thing that has it. */
export async function resolveIds(call: Call, parameters: readonly string[], words: readonly string[]): Promise<Ids> {
  const ids: Record<string, string> = {}
  for (const [at, name] of parameters.entries()) {
    const word = words[at]
    const resolve = PARAMETERS[name]?.resolve
    ids[name] = resolve === undefined ? (word ?? '') : await resolve(call, word, ids)
  }
  return ids
}

/** The id of a definition, by its id or its name. */
export async function definitionId(call: Call, word: string): Promise<string> {
  if (word.startsWith('def-')) return word
  return idByName('definition', word, (await listAll(call, 'listDefinitions', {})).rows)
}

interface NumberedVersion {
  readonly id: string
  readonly version: number
}

/** The id of a version of a definition: `3`, `v3`, an id, or the newest one when nothing was written. */
async function versionId(call: Call, word: string | undefined, { def_id: definition = '' }: Ids): Promise<string> {
  const ids = { def_id: definition }
  if (word === undefined) {
    const [newest] = (await listAll(call, 'listVersions', { ids, limit: 1 })).rows as readonly NumberedVersion[]
    if (newest === undefined) throw new CommandError('the definition has no version', 'NOT_FOUND')
    return newest.id
  }
  if (word.startsWith('ver-')) return word
  const number = /^v?(\d{1,9})$/.exec(word)?.[1]
  if (number === undefined) throw new UsageError(`a version is a number such as 2, or an id, not ${word}`)
  const versions = (await listAll(call, 'listVersions', { ids })).rows as readonly NumberedVersion[]
  const found = versions.find(({ version }) => version === Number(number))
  if (found !== undefined) return found.id
  const [newest] = versions.map(({ version }) => `; the newest is ${version}`)
  throw new CommandError(`the definition has no version ${number}${newest ?? ''}`, 'NOT_FOUND')
}

interface NamedPipeline {
  readonly id: string
  readonly state: string
  readonly sink_table: string
  readonly environment: string | null
  readonly definition_id: string | null
}

/** The id of a pipeline: an id, the table that it writes, or the name of its definition. */
async function pipelineId(call: Call, word: string): Promise<string> {
  if (word.startsWith('pipe-')) return word
  const pipelines = (await listAll(call, 'listPipelines', {})).rows as readonly NamedPipeline[]
  const definitions = await definitionsNamed(call, word)
  const found = pipelines.filter(
    ({ sink_table: sink, definition_id: id }) => sink === word || (id !== null && definitions.has(id)),
  )
  const [first, ...others] = found
  if (first === undefined) {
    throw new CommandError(`there is no pipeline ${word}: write an id, its sink table or its definition`, 'NOT_FOUND')
  }
  if (others.length === 0) return first.id
  const all = found.map(({ id, state, environment }) => `${id} (${[environment, state].filter(Boolean).join(', ')})`)
  throw new CommandError(`${word} stands for ${found.length} pipelines, write one of their ids: ${all.join(', ')}`)
}

/** The ids of the definitions that a word stands for. */
async function definitionsNamed(call: Call, word: string): Promise<ReadonlySet<string>> {
  const definitions = (await listAll(call, 'listDefinitions', {})).rows as readonly Named[]
  return new Set(definitions.filter(({ id, name }) => name === word || id === word).map(({ id }) => id))
}

/** The id of the only entry that has an id or a name. Throws {@link CommandError} when none has, or several have. */
function idByName(noun: string, word: string, rows: readonly unknown[]): string {
  const all = rows as readonly Named[]
  const byId = all.find(({ id }) => id === word)
  if (byId !== undefined) return byId.id
  const [first, ...others] = all.filter(({ name }) => name === word)
  if (first === undefined) throw new CommandError(`there is no ${noun} ${word}`, 'NOT_FOUND')
  if (others.length === 0) return first.id
  const ids = [first, ...others].map(({ id }) => id).join(', ')
  throw new CommandError(`${others.length + 1} have the name ${word}, write one of their ids: ${ids}`)
}
