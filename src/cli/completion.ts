import { UsageError } from './errors.ts'
import { COMMANDS } from './commands/all-commands.ts'
import { LOCAL_COMMANDS, optionsOf } from './help.ts'

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish }

/** A script for a shell. Throws {@link UsageError} for another one. */
export function completion(shell: string | undefined): string {
  const script = SHELLS[shell ?? '']
  if (script === undefined) throw new UsageError(`completion needs one of: ${Object.keys(SHELLS).join(', ')}`)
  return script()
}

const commandNames = (): readonly string[] => [...Object.keys(LOCAL_COMMANDS), ...Object.keys(COMMANDS)]

function optionNames(name: string): readonly string[] {
  const command = COMMANDS[name]
  return command === undefined ? [] : Object.keys(optionsOf(command)).map((option) => `--${option}`)
}

/** The values of each option that accepts only some, of all commands: an option has the same values everywhere. */
function optionChoices(): readonly (readonly [option: string, choices: readonly string[]])[] {
  const all = Object.values(COMMANDS).flatMap((command) =>
    Object.entries(optionsOf(command)).flatMap(([option, { choices }]) =>
      choices === undefined ? [] : [[option, choices] as const],
    ),
  )
  return [...new Map(all)]
}

function bash(): string {
  const cases = Object.keys(COMMANDS).map((name) => `    ${name}) words="${optionNames(name).join(' ')}" ;;`)
  const values = optionChoices().map(([option, choices]) => `  --${option}) words="${choices.join(' ')}" ;;`)
  return `_lockhouse() {
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commandNames().join(' ')}"; else
    case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words="" ;;
    esac
  fi
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
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
  const values = new Map(optionChoices())
  const lines = commandNames().map((name) => `complete -c lockhouse -f -n __fish_use_subcommand -a ${name}`)
  const options = Object.keys(COMMANDS).flatMap((name) =>
    optionNames(name).map((option) => {
      const choices = values.get(option.slice(2))
      const given = choices === undefined ? '' : ` -x -a "${choices.join(' ')}"`
      return `complete -c lockhouse -f -n "__fish_seen_subcommand_from ${name}" -l ${option.slice(2)}${given}`
    }),
  )
  return `${[...lines, ...options].join('\n')}\n`
}
