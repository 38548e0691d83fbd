import type { Command, OptionSpec } from './command.ts'
import { COMMANDS } from './commands/all-commands.ts'

/** Options of every command. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  server: { value: 'URL', help: 'the service; default LOCKHOUSE_SERVER, or http://127.0.0.1:3000' },
  'token-file': { value: 'FILE', help: 'reads the token from a file; default: the variable LOCKHOUSE_TOKEN' },
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

/** The list of all commands. */
export function overview(): string {
  const called = Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary] as const)
  return `Lockhouse keeps Apache Iceberg lakehouses healthy.

Usage: lockhouse COMMAND [OPTIONS]

${columns(Object.entries(LOCAL_COMMANDS))}

Commands that call a running service; backup, restore and doctor work on this machine, without one:
${columns(called)}

"lockhouse help COMMAND" shows options and examples. Settings of "serve" are environment variables, such as PORT=3000 and
LOCKHOUSE_HOME=./data. Exit codes: 0 done, 1 failed, 2 not understood.
`
}

/** What a command takes. */
export function commandHelp(name: string, command: Command): string {
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
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`).join('\n')
}
