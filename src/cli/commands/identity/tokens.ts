import type { z } from 'zod'
import type { createdToken } from '../../../schemas/auth.ts'
import { callCommand, listCommand } from '../../api/api-command.ts'
import { endpointOf } from '../../endpoint.ts'
import { givenFields } from '../../api/fields.ts'
import type { Call, Command } from '../../command.ts'
import { UsageError } from '../../errors.ts'
import { jsonText, plainText } from '../../text.ts'

/** Commands for tokens. */
export const tokenCommands: Readonly<Record<string, Command>> = {
  'token create': {
    ...callCommand('createToken', {
      summary: 'create a token, and print it alone, once',
      examples: ['lockhouse token create --user ana --role DataEngineer --name laptop'],
    }),
    run: create,
  },
  'token list': listCommand('listTokens', {
    columns: ['id', 'user', 'role', 'name', ['EXPIRES', 'expires_at'], ['REVOKED', 'revoked_at']],
    none: 'no tokens',
    examples: ['lockhouse token list'],
  }),
  'token revoke': callCommand('revokeToken', {
    confirm: 'Revoke the token {}?',
    done: '{} is revoked',
    examples: ['lockhouse token revoke tok-01k9… --yes'],
  }),
}

async function create(call: Call): Promise<void> {
  const { path, body: fields } = endpointOf('createToken')
  const body = givenFields(call, fields)
  const missing = Object.entries(fields).find(([name, { required }]) => required === true && body[name] === undefined)
  if (missing !== undefined) throw new UsageError(`token create needs --${missing[0]}`)
  const answer = (await call.api.send('POST', path, { body })).body as z.infer<typeof createdToken>
  call.terminal.note(plainText(`${answer.id} for ${answer.user}, ${answer.role}; it is shown only once:`))
  call.terminal.out(call.isSet('json') ? jsonText(answer) : answer.token)
}
