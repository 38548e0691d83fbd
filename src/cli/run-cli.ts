import type { OpenBundle } from '../server/start-service.ts'
import { readEnv } from '../config/env.ts'
import { VERSION } from '../config/version.ts'
import { CommandError, requireNone, UsageError } from './errors.ts'
import { jsonText, plainText } from './text.ts'

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
    console.error(args.includes('--json') ? errorJson(error) : await errorText(args, error))
  }
}

async function errorText(args: readonly string[], error: UsageError | CommandError): Promise<string> {
  const hint = error instanceof UsageError ? `; see ${(await commands()).helpFor(args)}` : ''
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

/** The commands, which take longer to load than the version takes to print. */
const commands = () => import('./run-command.ts')

async function runLocal(name: string, rest: readonly string[], openBundle?: OpenBundle): Promise<void> {
  const out = (text: string): void => void process.stdout.write(text)
  switch (name) {
    case 'help':
    case '--help':
    case '-h':
      return out((await commands()).helpAbout(rest))
    case 'version':
    case '--version':
      requireNone(rest)
      return out(`${VERSION}\n`)
    case 'completion':
      return out((await import('./completion.ts')).completion(rest[0]))
    default:
      return (await commands()).runCommand(name, rest, openBundle)
  }
}
