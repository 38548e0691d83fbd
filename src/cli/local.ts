import { ConfigError } from '../config/config-error.ts'
import type { Call, OptionSpec } from './command.ts'
import { CommandError } from './errors.ts'

/** The option of commands that work on this machine, without a service. */
export const HOME_OPTION: Readonly<Record<string, OptionSpec>> = {
  home: { value: 'FOLDER', help: 'folder of the service; default: LOCKHOUSE_HOME, else ./data' },
}

/** The folder that a command works on. */
export function homeOf({ text, env }: Call): string {
  return text('home') ?? env['LOCKHOUSE_HOME'] ?? './data'
}

/** Runs work on this machine; its expected errors end the command with one line. */
export async function local<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(error.message)
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
      throw new CommandError(error.message) // of the file system: it names the path
    }
    throw error
  }
}
