import { CommandError } from '../errors.ts'
import type { Call } from '../command.ts'
import { plainText } from '../text.ts'

/** Where something stands in the files. */
export interface Place {
  readonly file: string
  /** From 1. */
  readonly line: number
}

/** What is wrong with the files. */
export interface FileProblem extends Place {
  readonly message: string
}

const MAX_SHOWN = 20

/** Shows the problems of files, a line each, and throws {@link CommandError} when there are any. */
export function requireNoProblems(problems: readonly FileProblem[], { terminal, isSet }: Call): void {
  if (problems.length === 0) return
  const lines = problems.slice(0, MAX_SHOWN).map(({ file, line, message }) => `${file}:${line}: ${message}`)
  if (isSet('json')) throw new CommandError(lines.join('; '))
  for (const line of lines) terminal.note(plainText(line))
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`
  throw new CommandError(`the files have ${count}; nothing was changed`)
}
