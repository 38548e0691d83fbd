import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createApiClient } from '../../src/cli/api-client.ts'
import type { Call } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands/all-commands.ts'
import { CommandError, UsageError } from '../../src/cli/errors.ts'
import { optionsOf } from '../../src/cli/help.ts'
import { ADMIN_TOKEN, type TestService } from '../support/service.ts'
import type { Ran } from './lockhouse-process.ts'

export interface HereOptions {
  /** The folder that the first argument is relative to. */
  readonly cwd: string
  readonly service: TestService
  /** Default: that of a lead. */
  readonly token?: string
  /** What a person answers; undefined: nobody can be asked. */
  readonly answer?: (question: string) => Promise<string>
}

/** Runs a command whose argument is a folder in this process, without the second that a process of its own takes to start. */
export async function runHere([name = '', ...args]: readonly string[], options: HereOptions): Promise<Ran> {
  const { cwd, service, token = ADMIN_TOKEN, answer } = options
  const command = COMMANDS[name]
  if (command === undefined) return { code: 2, out: '', err: `unknown command ${name}` }
  const specs = Object.entries(optionsOf(command)).map(
    ([option, { value }]) => [option, { type: value === undefined ? 'boolean' : 'string' }] as const,
  )
  const { values, positionals } = parseArgs({ args, options: Object.fromEntries(specs), allowPositionals: true })
  let out = ''
  let err = ''
  const fetch = (request: Request): Promise<Response> => service.app.fetch(request, {})
  const call: Call = {
    api: createApiClient({ server: 'http://localhost', token, fetch }),
    terminal: {
      out: (text) => void (out += `${text}\n`),
      write: async (text) => void (out += text),
      note: (text) => void (err += `${text}\n`),
      isLive: false,
      width: undefined,
      ask: answer,
      nowMs: () => performance.now(),
    },
    isDirect: false,
    env: {},
    bundle: () => undefined,
    names: positionals.map((word) => join(cwd, word)),
    text: (option) => (typeof values[option] === 'string' ? values[option] : undefined),
    isSet: (option) => values[option] === true,
    number: () => undefined,
  }
  const local = (text: string): string => text.replaceAll(`${cwd}/`, '')
  try {
    await command.run(call)
    return { code: 0, out: local(out), err: local(err) }
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof CommandError)) throw error
    const code = error instanceof CommandError && error.code !== undefined ? `${error.code}: ` : ''
    const message = `lockhouse: ${code}${error.message}\n`
    return { code: error instanceof UsageError ? 2 : 1, out: local(out), err: local(err + message) }
  }
}
