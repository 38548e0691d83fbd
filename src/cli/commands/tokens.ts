import type { z } from 'zod'
import type { createdToken, tokenList } from '../../schemas/auth.ts'
import { CHOICES } from '../choices.ts'
import type { Call, Command } from '../command.ts'
import { UsageError } from '../errors.ts'
import { JSON_OPTION, showRows } from './show.ts'

const ACTIONS: Readonly<Record<string, (call: Call) => Promise<void>>> = { create, list, revoke }

export const token: Command = {
  summary: 'create, list and revoke tokens: token create|list|revoke',
  names: ['ACTION', '[ID]'],
  options: {
    user: { value: 'NAME', help: 'create: the user' },
    role: { value: 'ROLE', choices: CHOICES.role, help: 'create: Auditor, DataEngineer or LeadDataEngineer' },
    name: { value: 'TEXT', help: 'create: what the token is for' },
    'expires-at': { value: 'TIME', help: 'create: such as 2036-01-01T00:00:00Z; default: never' },
    ...JSON_OPTION,
  },
  examples: [
    'lockhouse token create --user ana --role DataEngineer --name laptop',
    'lockhouse token list',
    'lockhouse token revoke tok-01k9…',
  ],
  async run(call) {
    const action = ACTIONS[call.names[0] ?? '']
    if (action === undefined) throw new UsageError('token needs create, list or revoke')
    await action(call)
  },
}

async function create(call: Call): Promise<void> {
  const [user, role, name] = ['user', 'role', 'name'].map((option) => {
    const value = call.text(option)
    if (value === undefined) throw new UsageError(`token create needs --${option}`)
    return value
  })
  const expires = call.text('expires-at')
  const body = { user, role, name, ...(expires === undefined ? {} : { expires_at: expires }) }
  const answer = (await call.api.send('POST', '/api/auth/tokens', { body })).body as z.infer<typeof createdToken>
  call.terminal.note(`${answer.id} for ${answer.user}, ${answer.role}; it is shown only once:`)
  call.terminal.out(call.isSet('json') ? JSON.stringify(answer) : answer.token)
}

async function list(call: Call): Promise<void> {
  const answer = await call.api.get<z.infer<typeof tokenList>>('/api/auth/tokens')
  showRows(call, answer, {
    rows: answer,
    none: 'no tokens',
    columns: [
      { header: 'ID', cell: ({ id }) => id },
      { header: 'USER', cell: ({ user }) => user },
      { header: 'ROLE', cell: ({ role }) => role },
      { header: 'NAME', cell: ({ name }) => name },
      { header: 'EXPIRES', cell: (row) => row.expires_at },
      { header: 'REVOKED', cell: (row) => row.revoked_at },
    ],
  })
}

async function revoke(call: Call): Promise<void> {
  const [, id] = call.names
  if (id === undefined) throw new UsageError('token revoke needs the id of a token')
  await call.api.send('DELETE', `/api/auth/tokens/${encodeURIComponent(id)}`)
  call.terminal.note(`${id} is revoked`)
}
