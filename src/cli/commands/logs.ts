import { callCommand, limitOf, listCommand, queryOf } from '../api/api-command.ts'
import { endpointOf } from '../endpoint.ts'
import { fieldOptions } from '../api/fields.ts'
import type { Call, Command } from '../command.ts'
import { CommandError, UsageError } from '../errors.ts'
import { jsonText, plainText, visibleJson } from '../text.ts'

const EVENT_COLUMNS = ['seq', ['TIME', 'at'], 'type', ['OBJECT', 'object_id'], 'data'] as const
const events = listCommand('listEvents', {
  summary: 'list events, oldest first; with --follow as they come, until it is interrupted',
  columns: EVENT_COLUMNS,
  none: 'no events',
  limit: 100,
  examples: ['lockhouse events --since 0 --type "pipeline.*"', 'lockhouse events --follow --json'],
})

/** Commands for events and for the audit log. */
export const logCommands: Readonly<Record<string, Command>> = {
  events: {
    ...events,
    options: {
      ...events.options,
      follow: { help: 'continue with new events; begins with those after --since, else now' },
    },
    run: (call) => (call.isSet('follow') ? followEvents(call) : events.run(call)),
  },
  audit: listCommand('listAudit', {
    summary: 'list changes and refusals, newest first',
    columns: [
      'seq',
      ['TIME', 'at'],
      'actor',
      'role',
      'channel',
      'action',
      ['TYPE', 'object_type'],
      ['OBJECT', 'object_id'],
      'outcome',
    ],
    none: 'no entries',
    limit: 100,
    examples: ['lockhouse audit --actor ana', 'lockhouse audit --object demo.events --from 2026-11-01T00:00:00Z'],
  }),
  'audit export': {
    summary: 'print the audit log as JSON lines with its hash chain, oldest first; ends with 1 when it is incomplete',
    names: [],
    options: fieldOptions(endpointOf('exportAudit').query),
    examples: ['lockhouse audit export > audit.ndjson', 'lockhouse audit export --after-seq 1200 >> audit.ndjson'],
    endpoints: ['exportAudit'],
    run: exportAudit,
  },
  'audit verify': callCommand('verifyAudit', {
    summary: 'verify that the audit log is complete and unchanged; ends with 1 when it is not',
    fails: ({ ok }) => (ok === true ? undefined : 'the audit log was changed or is incomplete'),
    examples: ['lockhouse audit verify'],
  }),
}

interface FollowedEvent {
  readonly seq: number
}

async function followEvents(call: Call): Promise<void> {
  const { api, terminal, isSet } = call
  if (limitOf(call) !== undefined) throw new UsageError('--follow has no --limit')
  const { path } = endpointOf('listEvents')
  let last: number | undefined
  try {
    for await (const event of api.events(path, queryOf(call, endpointOf('listEvents')))) {
      last = (event as FollowedEvent).seq
      if (isSet('json')) terminal.out(jsonText(event))
      else terminal.out(eventLine(event))
    }
  } catch (error) {
    if (!(error instanceof CommandError) || last === undefined) throw error
    throw new CommandError(`${error.message}; continue with --since ${last}`, error.code)
  }
  const from = last === undefined ? '' : `; continue with --since ${last}`
  throw new CommandError(`the service ended the stream${from}`)
}

function eventLine(event: unknown): string {
  const { seq, at, type, object_id: object, data } = event as Readonly<Record<string, unknown>>
  return [seq, at, type, object, jsonText(data)].map((part) => plainText(String(part))).join('  ')
}

/** The end of a complete export (docs/api.md#audit-log). */
const LAST_LINE = /^\{"end":true,/

async function exportAudit(call: Call): Promise<void> {
  const { api, terminal } = call
  const endpoint = endpointOf('exportAudit')
  let rest = ''
  let lastLine = ''
  for await (const piece of api.text(endpoint.path, queryOf(call, endpoint))) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    lastLine = lines.at(-1) ?? lastLine
    if (lines.length > 0) await terminal.write(visibleJson(`${lines.join('\n')}\n`))
  }
  if (!LAST_LINE.test(lastLine)) throw new CommandError('the export is incomplete: its last line is missing')
}
