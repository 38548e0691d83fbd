import type { Command, OptionSpec } from './command.ts'
import { commandGroups, COMMANDS } from './commands/all-commands.ts'
import { UsageError } from './errors.ts'
import { widest } from './text.ts'

/** Options of every command. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  server: { value: 'URL', help: 'the service; default LOCKHOUSE_SERVER, or http://127.0.0.1:3000' },
  'token-file': {
    value: 'FILE',
    help: 'reads the token from a file; default: the variable LOCKHOUSE_TOKEN, then the session of login',
  },
  help: { help: 'shows this text' },
}

/** The option of commands that can work without a service. */
export const CATALOG_OPTION: Readonly<Record<string, OptionSpec>> = {
  catalog: { value: 'FILE', help: 'works on this catalog without a service; JSON as PUT /api/config takes it' },
}

/** Commands that need no service. */
export const LOCAL_COMMANDS: Readonly<Record<string, string>> = {
  serve: 'run the service; the very first start makes a demo lakehouse, unless LOCKHOUSE_DEMO=0',
  completion: 'print a script that completes commands: completion bash|zsh|fish',
  help: 'show this text, or that of a command',
  version: 'show the version',
}

/** The list of all commands: first words with their summaries, and the words that may follow them. */
export function overview(): string {
  const lines = commandGroups().flatMap(({ name, own, others }): [string, string][] => [
    [name, own?.summary ?? wrapped(others)],
    ...(own === undefined || others.length === 0 ? [] : [['', wrapped(others)] as [string, string]]),
  ])
  return `Lockhouse keeps Apache Iceberg lakehouses healthy.

Usage: lockhouse COMMAND [OPTIONS]

${columns(Object.entries(LOCAL_COMMANDS))}

Commands that call a running service; backup, restore and doctor work on this machine, without one:
${columns(lines)}

A word in the second line of a command follows it, such as "lockhouse policies create". "lockhouse help COMMAND" shows options
and examples. Settings of "serve" are environment variables, such as PORT=3000 and LOCKHOUSE_HOME=./data. Exit codes: 0 done,
1 failed, 2 not understood.
`
}

const WORDS_PER_LINE = 8

function wrapped(words: readonly string[]): string {
  const lines = words.flatMap((_, at) =>
    at % WORDS_PER_LINE === 0 ? [words.slice(at, at + WORDS_PER_LINE).join(', ')] : [],
  )
  return lines.join(',\n')
}

/** The help of a command of one word or two, or of the commands that begin with a word. Throws {@link UsageError}. */
export function helpText(name: string): string {
  const group = commandGroups().find((one) => one.name === name)
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (Object.hasOwn(LOCAL_COMMANDS, name)) return overview()
  if (command === undefined && group === undefined) throw new UsageError(`unknown command ${name}`)
  const own = command === undefined ? '' : commandHelp(name, command)
  const others = (group?.others ?? []).map((word) => {
    const { names = [], summary = '' } = COMMANDS[`${name} ${word}`] ?? {}
    return [[name, word, ...names].join(' '), summary] as const
  })
  if (others.length === 0) return own
  return `${own}${own === '' ? '' : '\n'}Commands of ${name}:\n${columns(others)}\n`
}

/** What a command takes. */
function commandHelp(name: string, command: Command): string {
  const { summary, names, examples } = command
  const all = Object.entries(optionsOf(command)).map(
    ([option, { value, help }]) => [`--${option}${value === undefined ? '' : ` ${value}`}`, help] as const,
  )
  return `lockhouse ${name}: ${summary}

Usage: lockhouse ${[name, ...names].join(' ')} [OPTIONS]

${columns(all)}

Examples:
${examples.map((example) => `  ${example}`).join('\n')}
`
}

/** All options of a command. */
export function optionsOf({ options, takesCatalog }: Command): Readonly<Record<string, OptionSpec>> {
  return { ...options, ...(takesCatalog === true ? CATALOG_OPTION : {}), ...COMMON_OPTIONS }
}

function columns(pairs: readonly (readonly [string, string])[]): string {
  const width = widest(pairs.map(([name]) => name))
  return pairs
    .map(([name, text]) => `  ${name.padEnd(width)}  ${text.replaceAll('\n', `\n${' '.repeat(width + 4)}`)}`)
    .join('\n')
}
