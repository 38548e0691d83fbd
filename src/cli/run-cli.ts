import { readEnv } from '../config/env.ts'
import { type OpenBundle, startService } from '../server/start-service.ts'
import { VERSION } from '../version.ts'

export interface CliOptions {
  readonly openBundle?: OpenBundle
}

const USAGE = `Lockhouse keeps Apache Iceberg lakehouses healthy.

Usage: lockhouse [command]

  serve       runs the service; with a demo lakehouse at the very first start, unless LOCKHOUSE_DEMO=0
  help        shows this text
  version     shows the version

Settings are environment variables, such as PORT=3000 and LOCKHOUSE_HOME=./data.
`

/** Runs a command of `lockhouse`. Ends the process with 1 when it fails and with 2 when it is not understood. */
export async function runCli(args: readonly string[], { openBundle }: CliOptions = {}): Promise<void> {
  const [command = 'help', ...more] = args
  if (more.length > 0) return fail(`unexpected argument ${more[0]}`)
  switch (command) {
    case 'serve':
      return startService({ LOCKHOUSE_DEMO: '1', ...readEnv() }, openBundle)
    case 'help':
    case '--help':
    case '-h':
      process.stdout.write(USAGE)
      return undefined
    case 'version':
    case '--version':
      process.stdout.write(`${VERSION}\n`)
      return undefined
    default:
      return fail(`unknown command ${command}`)
  }
}

function fail(problem: string): void {
  console.error(`lockhouse: ${problem}; see lockhouse help`)
  process.exitCode = 2
}
