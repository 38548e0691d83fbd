import { callCommand, listCommand, requireAnswer, confirmed, YES_OPTION } from '../../api/api-command.ts'
import { readListFile } from '../../api/fields.ts'
import type { Call, Command } from '../../command.ts'
import { endpointOf } from '../../endpoint.ts'
import { JSON_OPTION } from '../../show.ts'
import { jsonText } from '../../text.ts'

/** Commands for grants on tables. */
export const grantCommands: Readonly<Record<string, Command>> = {
  grants: listCommand('listGrants', {
    columns: ['principal', 'role', 'tables', 'except', 'environments'],
    none: 'no grants: every user sees every table',
    examples: ['lockhouse grants', 'lockhouse grants --json > grants.json'],
  }),
  'grants set': {
    summary: 'replace all grants by those of a file with a JSON list',
    names: ['FILE'],
    options: { ...YES_OPTION, ...JSON_OPTION },
    examples: ['lockhouse grants set grants.json --yes'],
    endpoints: ['setGrants'],
    run: setGrants,
  },
  'grants explain': callCommand('explainAccess', {
    tables: { grants: ['principal', 'role', 'tables', 'except', 'environments'] },
    examples: [
      'lockhouse grants explain --user ana --table demo.orders',
      'lockhouse grants explain --group analysts --table demo.orders',
    ],
  }),
}

async function setGrants(call: Call): Promise<void> {
  requireAnswer(call)
  const body = await readListFile(call.names[0] ?? '')
  await confirmed(call, `Replace all grants by the ${body.length} of ${call.names[0] ?? ''}?`)
  const { path } = endpointOf('setGrants')
  const answer = (await call.api.send('PUT', path, { body })).body
  if (call.isSet('json')) call.terminal.out(jsonText(answer))
  else call.terminal.note(`there are ${body.length} grants now`)
}
