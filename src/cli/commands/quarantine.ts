import { callCommand, listCommand } from '../api/api-command.ts'
import { endpointOf, filledPath } from '../endpoint.ts'
import type { Command } from '../command.ts'
import { previewOperation, runOperation } from './operate.ts'
import { JSON_OPTION } from '../show.ts'

/** Commands for files that maintenance moved into quarantine. */
export const quarantineCommands: Readonly<Record<string, Command>> = {
  quarantine: listCommand('listQuarantine', {
    columns: [
      'id',
      'table',
      'state',
      ['FROM', 'reason'],
      ['FILES', 'files_count'],
      ['SIZE', 'bytes'],
      ['SNAPSHOTS', 'snapshots_count'],
      ['UNTIL', 'held_until'],
      'problem',
    ],
    none: 'nothing is in quarantine',
    examples: ['lockhouse quarantine --table demo.events', 'lockhouse quarantine --state held'],
  }),
  'quarantine show': callCommand('getQuarantineEntry', {
    tables: { files: ['location', ['SIZE', 'size_bytes']] },
    examples: ['lockhouse quarantine show qua-01k9…'],
  }),
  'quarantine restore': {
    summary: endpointOf('restoreFromQuarantine').summary.replace('Put', 'put'),
    names: ['ENTRY'],
    options: {
      'dry-run': { help: 'show the plan; changes nothing' },
      plan: { value: 'ID', help: 'apply exactly this plan of a dry run' },
      ...JSON_OPTION,
    },
    examples: ['lockhouse quarantine restore qua-01k9… --dry-run', 'lockhouse quarantine restore qua-01k9…'],
    endpoints: ['restoreFromQuarantine'],
    async run(call) {
      const path = filledPath(endpointOf('restoreFromQuarantine').path, { quarantine_id: call.names[0] ?? '' })
      const body = { plan_id: call.text('plan') }
      await (call.isSet('dry-run') ? previewOperation(call, path, body) : runOperation(call, path, body))
    },
  },
  'quarantine purge': callCommand('purgeQuarantineEntry', {
    confirm: 'Delete the files of {} now? They cannot be restored.',
    tables: { failed_deletions: ['location', 'reason'] },
    examples: ['lockhouse quarantine purge qua-01k9… --yes'],
  }),
}
