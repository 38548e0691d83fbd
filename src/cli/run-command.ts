import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Env, readEnv } from '../config/env.ts'
import type { OpenBundle } from '../server/start-service.ts'
import { baseAddress, createApiClient } from './api-client.ts'
import type { Call, Command } from './command.ts'
import { commandGroups, COMMANDS } from './commands/all-commands.ts'
import { withCatalog } from './direct.ts'
import { CommandError, requireNone, UsageError } from './errors.ts'
import { helpText, optionsOf, overview } from './help.ts'
import { storedToken } from './api/stored-session.ts'
import { processTerminal } from './terminal.ts'
import { listText } from './text.ts'

/** The text of `lockhouse help` with these words. */
export function helpAbout([first, second]: readonly string[]): string {
  return first === undefined ? overview() : helpText(second === undefined ? first : `${first} ${second}`)
}

/** The command line that explains the command that these arguments begin with. */
export function helpFor([first = '', second = '']: readonly string[]): string {
  const topic = [`${first} ${second}`, first].find((one) => Object.hasOwn(COMMANDS, one)) ?? ''
  return `lockhouse help ${topic}`.trimEnd()
}

/** Runs a command, whose first word and other words these are. */
export async function runCommand(first: string, words: readonly string[], openBundle?: OpenBundle): Promise<void> {
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
  const { protocol = '', username = '', password = '' } = URL.parse(server) ?? {}
  if (!/^https?:/.test(protocol)) throw new UsageError('--server must be an http or https address')
  if (username + password !== '') throw new UsageError('--server must have no user and no password')
  return {
    api: createApiClient({ server, token: tokenOf(text('token-file'), env, server) }),
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
function tokenOf(file: string | undefined, env: Env, server: string): string | undefined {
  const given = file === undefined ? env['LOCKHOUSE_TOKEN'] : tokenIn(file)
  const token = given ?? storedToken(env, baseAddress(server))
  if (token === undefined || TOKEN.test(token)) return token
  // The message never has the value, which may be a secret with a typing error.
  throw new CommandError(`${file ?? 'LOCKHOUSE_TOKEN'} is not one token: a token is one word of ASCII characters`)
}

/** What a header accepts as a bearer token (RFC 6750, section 2.1 is narrower). */
const TOKEN = /^[\x21-\x7e]+$/

function tokenIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    throw new CommandError(`${file} cannot be read`)
  }
}
