import type { z } from 'zod'
import { sleep } from '../../../lib/sleep.ts'
import type { deviceCode, devicePending, deviceToken } from '../../../schemas/auth.ts'
import type { Call, Command } from '../../command.ts'
import { endpointOf } from '../../endpoint.ts'
import { CommandError } from '../../errors.ts'
import { storeToken, storedToken } from '../../api/stored-session.ts'
import { plainText } from '../../text.ts'

/** `lockhouse login`: signs in at the identity provider of a service, with a browser of any device (RFC 8628). */
export const login: Command = {
  summary: 'sign in at the identity provider of the service, with a browser',
  names: [],
  options: {},
  examples: ['lockhouse login', 'lockhouse login --server https://lake.example'],
  run: signIn,
  endpoints: ['beginDeviceSignIn', 'completeDeviceSignIn'],
}

/** `lockhouse logout`: ends the session of `lockhouse login`. */
export const logout: Command = {
  summary: 'end the session of "lockhouse login"',
  names: [],
  options: {},
  examples: ['lockhouse logout'],
  run: signOut,
  endpoints: ['endSession'],
}

async function signIn({ api, terminal, env }: Call): Promise<void> {
  if (!isPrivate(api.server)) throw new CommandError(`${api.server} is not encrypted: a token must not be sent there`)
  const begun = (await api.send('POST', endpointOf('beginDeviceSignIn').path)).body as z.infer<typeof deviceCode>
  const { verification_uri: page, verification_uri_complete: link = page, user_code: code } = begun
  terminal.note(plainText(`Open ${link}`))
  terminal.note(plainText(`and confirm the code ${code}`))
  const endMs = terminal.nowMs() + begun.expires_in * 1000
  let intervalS = Math.max(1, begun.interval)
  while (terminal.nowMs() < endMs) {
    await sleep(intervalS * 1000)
    const body = { device_code: begun.device_code }
    const answer = await api.send('POST', endpointOf('completeDeviceSignIn').path, { body })
    if (answer.status === 202) {
      intervalS += (answer.body as z.infer<typeof devicePending>).slower_by
      continue
    }
    const { token, user, role } = answer.body as z.infer<typeof deviceToken>
    storeToken(env, api.server, token)
    return terminal.note(plainText(`signed in as ${user}, ${role}`))
  }
  throw new CommandError('the code has expired: run "lockhouse login" again')
}

async function signOut({ api, terminal, env }: Call): Promise<void> {
  const token = storedToken(env, api.server)
  if (token === undefined) return terminal.note(plainText(`nobody is signed in at ${api.server}`))
  const headers = { Authorization: `Bearer ${token}` }
  try {
    await api.send('DELETE', endpointOf('endSession').path, { headers })
  } catch (error) {
    // an ended session has nothing to end
    if (!(error instanceof CommandError) || error.code !== 'UNAUTHENTICATED') throw error
  }
  storeToken(env, api.server, undefined)
  terminal.note('signed out')
}

/** Whether what is sent to an address cannot be read on the way. */
function isPrivate(server: string): boolean {
  const { protocol, hostname = '' } = URL.parse(server) ?? {}
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}
