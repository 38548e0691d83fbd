import { UsageError } from './errors.ts'
import type { Command } from './command.ts'
import { commandGroups, COMMANDS } from './commands/all-commands.ts'
import { LOCAL_COMMANDS, optionsOf } from './help.ts'

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish }

/** A script for a shell. Throws {@link UsageError} for another one. */
export function completion(shell: string | undefined): string {
  const script = SHELLS[shell ?? '']
  if (script === undefined) throw new UsageError(`completion needs one of: ${Object.keys(SHELLS).join(', ')}`)
  return script()
}

const firstWords = (): readonly string[] => [...Object.keys(LOCAL_COMMANDS), ...commandGroups().map(({ name }) => name)]

function optionNames(command: Command | undefined): readonly string[] {
  return command === undefined ? [] : Object.keys(optionsOf(command)).map((option) => `--${option}`)
}

/** The values of the options of a command that accept only some. */
function optionChoices(command: Command): readonly (readonly [option: string, choices: readonly string[]])[] {
  return Object.entries(optionsOf(command)).flatMap(([option, { choices }]) =>
    choices === undefined ? [] : [[option, choices] as const],
  )
}

function bash(): string {
  const groups = commandGroups()
  const seconds = groups.filter(({ others }) => others.length > 0)
  const cases = groups.map(
    ({ name, own, others }) => `    ${name}) words="${[...others, ...optionNames(own)].join(' ')}" ;;`,
  )
  const pairs = seconds.flatMap(({ name, others }) =>
    others.map((word) => `    "${name} ${word}") words="${optionNames(COMMANDS[`${name} ${word}`]).join(' ')}" ;;`),
  )
  const values = Object.entries(COMMANDS).flatMap(([name, command]) =>
    optionChoices(command).map(([option, choices]) => `    "${name} --${option}") words="${choices.join(' ')}" ;;`),
  )
  return `_lockhouse() {
  local words first second command last
  first="\${COMP_WORDS[1]}"; second="\${COMP_WORDS[2]}"; last="\${COMP_WORDS[COMP_CWORD-1]}"; command="$first"
  if [ "$COMP_CWORD" -eq 1 ]; then words="${firstWords().join(' ')}"; else
    case "$first" in
${cases.join('\n')}
    *) words="" ;;
    esac
  fi
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$first $second" in
${pairs.join('\n')}
    *) second="" ;;
    esac
    if [ -n "$second" ]; then command="$first $second"; fi
  fi
  case "$command $last" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _lockhouse lockhouse
`
}

function zsh(): string {
  return `#compdef lockhouse
autoload -U +X bashcompinit && bashcompinit
${bash()}`
}

function fish(): string {
  const lines = firstWords().map((name) => `complete -c lockhouse -f -n __fish_use_subcommand -a ${name}`)
  const seconds = commandGroups().flatMap(({ name, others }) =>
    others.map((word) => `complete -c lockhouse -f -n "__fish_seen_subcommand_from ${name}" -a ${word}`),
  )
  const options = Object.entries(COMMANDS).flatMap(([name, command]) => {
    const choices = new Map(optionChoices(command))
    const seen = name.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
    return Object.keys(optionsOf(command)).map((option) => {
      const values = choices.get(option)
      const given = values === undefined ? '' : ` -x -a "${values.join(' ')}"`
      return `complete -c lockhouse -f -n "${seen.join('; and ')}" -l ${option}${given}`
    })
  })
  return `${[...lines, ...seconds, ...options].join('\n')}\n`
}
