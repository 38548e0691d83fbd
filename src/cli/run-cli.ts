import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Env, readEnv } from '../config/env.ts'
import type { OpenBundle } from '../server/start-service.ts'
import { VERSION } from '../config/version.ts'
import { createApiClient } from './api-client.ts'
import type { Call, Command } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { commandGroups, COMMANDS } from './commands/all-commands.ts'
import { completion } from './completion.ts'
import { withCatalog } from './direct.ts'
import { helpText, optionsOf, overview } from './help.ts'
import { processTerminal } from './terminal.ts'
import { jsonText, listText, plainText } from './text.ts'

export interface CliOptions {
  readonly openBundle?: OpenBundle
}

/** Runs a command of `lockhouse`. Sets the exit code 1 when it fails and 2 when it is not understood. */
export async function runCli(args: readonly string[], { openBundle }: CliOptions = {}): Promise<void> {
  const [name = 'help', ...rest] = args
  if (name !== 'serve') endWithOutput()
  try {
    if (name === 'serve') {
      requireNone(rest)
      const { startService } = await import('../server/start-service.ts') // other commands do not need the service
      await startService({ LOCKHOUSE_DEMO: '1', ...readEnv() }, openBundle)
    } else await runLocal(name, rest, openBundle)
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof CommandError)) throw error
    process.exitCode = error instanceof UsageError ? 2 : 1
    console.error(args.includes('--json') ? errorJson(error) : errorText(args, error))
  }
}

function errorText(args: readonly string[], error: UsageError | CommandError): string {
  const [name = '', second = ''] = args
  const topic = [`${name} ${second}`, name].find((one) => Object.hasOwn(COMMANDS, one)) ?? ''
  const hint = error instanceof UsageError ? `; see lockhouse help ${topic}`.trimEnd() : ''
  const code = error instanceof CommandError && error.code !== undefined ? `${error.code}: ` : ''
  return `lockhouse: ${code}${plainText(error.message)}${hint}`
}

function errorJson(error: UsageError | CommandError): string {
  const code = error instanceof CommandError ? (error.code ?? null) : 'USAGE'
  return jsonText({ success: false, code, message: error.message })
}

/** Ends the process when nobody reads standard output any more, or when nothing more can be written there. */
function endWithOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE')
      console.error(`lockhouse: standard output cannot be written: ${error.code ?? error.message}`)
    process.exit(1)
  })
}

async function runLocal(name: string, rest: readonly string[], openBundle?: OpenBundle): Promise<void> {
  const out = (text: string): void => void process.stdout.write(text)
  switch (name) {
    case 'help':
    case '--help':
    case '-h':
      return out(helpOf(rest))
    case 'version':
    case '--version':
      requireNone(rest)
      return out(`${VERSION}\n`)
    case 'completion':
      return out(completion(rest[0]))
    default:
      return runCommand(name, rest, openBundle)
  }
}

function helpOf([first, second]: readonly string[]): string {
  return first === undefined ? overview() : helpText(second === undefined ? first : `${first} ${second}`)
}

function requireNone([first]: readonly string[]): void {
  if (first !== undefined) throw new UsageError(`unexpected argument ${first}`)
}

async function runCommand(first: string, words: readonly string[], openBundle?: OpenBundle): Promise<void> {
  const { name, command, rest } = foundCommand(first, words)
  if (command === undefined) return void process.stdout.write(helpText(name))
  const { values, positionals } = parsed(command, rest)
  if (values['help'] === true) return void process.stdout.write(helpText(name))
  requireNames(command, positionals)
  requireChoices(command, values)
  const bundle: Call['bundle'] = (home) => openBundle?.(home)
  const call: Call = { ...callOf(values, positionals), isDirect: false, bundle }
  const catalog = call.text('catalog')
  await (catalog === undefined ? command.run(call) : withCatalog(call, catalog, command.run))
}

interface FoundCommand {
  readonly name: string
  /** Undefined: help was asked for a group without a command of its own. */
  readonly command: Command | undefined
  readonly rest: readonly string[]
}

/** The command of one word or of two. Throws {@link UsageError} when there is none. */
function foundCommand(first: string, words: readonly string[]): FoundCommand {
  const [second = '', ...rest] = words
  const two = `${first} ${second}`
  if (Object.hasOwn(COMMANDS, two)) return { name: two, command: COMMANDS[two], rest }
  const group = commandGroups().find(({ name }) => name === first)
  if (group === undefined) throw new UsageError(`unknown command ${first}`)
  const { own, others } = group
  if (others.length === 0 || (own !== undefined && (second === '' || second.startsWith('-')))) {
    return { name: first, command: own, rest: words }
  }
  if (second === '--help') return { name: first, command: undefined, rest: [] }
  throw new UsageError(
    `${first} ${own === undefined ? 'needs' : `has no command ${second}: write`} ${listText(others)}`,
  )
}

type Values = Readonly<Record<string, string | boolean | undefined>>

function parsed(command: Command, args: readonly string[]): { values: Values; positionals: readonly string[] } {
  const specs = Object.entries(optionsOf(command)).map(
    ([option, { value }]) => [option, { type: value === undefined ? 'boolean' : 'string' }] as const,
  )
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(specs), allowPositionals: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split('. ', 1)[0] ?? '') : String(error))
  }
}

function requireNames({ names }: Command, given: readonly string[]): void {
  const missing = names.slice(given.length).find((name) => !name.startsWith('['))
  if (missing !== undefined) throw new UsageError(`${missing} is missing`)
  requireNone(given.slice(names.length))
}

function requireChoices(command: Command, values: Values): void {
  for (const [option, { choices }] of Object.entries(optionsOf(command))) {
    const value = values[option]
    if (choices === undefined || typeof value !== 'string' || choices.includes(value)) continue
    throw new UsageError(`--${option} must be ${listText(choices)}, not ${value}`)
  }
}

/**
 * The service of this machine, as `serve` with the same environment runs it; on the default port where PORT is not valid,
 * because `doctor` has to say so.
 */
function localServer({ PORT = '', BASE_PATH = '' }: Env): string {
  return `http://127.0.0.1:${/^\d{1,5}$/.test(PORT) ? PORT : '3000'}${BASE_PATH}`
}

function callOf(values: Values, names: readonly string[]): Omit<Call, 'bundle' | 'isDirect'> {
  const text = (option: string): string | undefined => {
    const value = values[option]
    return typeof value === 'string' ? value : undefined
  }
  const env = readEnv()
  const server = text('server') ?? env['LOCKHOUSE_SERVER'] ?? localServer(env)
  if (!/^https?:/.test(URL.parse(server)?.protocol ?? '')) {
    throw new UsageError('--server must be an http or https address')
  }
  return {
    api: createApiClient({ server, token: tokenOf(text('token-file'), env) }),
    terminal: processTerminal(),
    env,
    names,
    text,
    isSet: (option) => values[option] === true,
    number(option) {
      const value = text(option)
      if (value === undefined) return undefined
      if (!/^\d{1,15}$/.test(value)) throw new UsageError(`--${option} must be a whole number`)
      return Number(value)
    },
  }
}

/** Never an argument: other users of the machine can read those. */
function tokenOf(file: string | undefined, env: Env): string | undefined {
  if (file === undefined) return env['LOCKHOUSE_TOKEN']
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    throw new CommandError(`${file} cannot be read`)
  }
}
