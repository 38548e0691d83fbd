import type { z } from 'zod'
import type { recoveryPointList } from '../../../schemas/tables/recovery-points.ts'
import { showList } from '../../api/answer.ts'
import { limitOf, queryOf } from '../../api/api-command.ts'
import { fieldOptions } from '../../api/fields.ts'
import { listAll } from '../../api/pages.ts'
import type { Command } from '../../command.ts'
import { endpointOf } from '../../endpoint.ts'
import { JSON_OPTION } from '../../show.ts'
import { completeTime } from '../../text.ts'

const { table: _, ...options } = endpointOf('listRecoveryPoints').query

/** Lists the points in time to which a table can be rolled back. */
export const recoveryPointsCommand: Command = {
  summary: 'list the points in time to which a table can be restored, newest first',
  takesCatalog: true,
  endpoints: ['listRecoveryPoints'],
  names: ['TABLE'],
  options: {
    ...fieldOptions(options),
    limit: { value: 'NUMBER', help: 'entries at most; default: all' },
    ...JSON_OPTION,
  },
  examples: [
    'lockhouse tables recovery-points demo.events',
    'lockhouse tables recovery-points demo.events --at 2026-01-31T14:05Z',
  ],
  async run(call) {
    const [table = ''] = call.names
    const given = queryOf(call, { ...endpointOf('listRecoveryPoints'), query: options })
    const query = { ...given, at: completeTime(given['at']), table }
    const { answer, rows } = await listAll(call, 'listRecoveryPoints', { query, limit: limitOf(call) })
    showList(call, answer, {
      rows,
      none: 'no recovery point',
      columns: [
        ['FROM', 'made_current_at'],
        ['UNTIL', 'current_until'],
        ['SNAPSHOT', 'snapshot_id'],
        'operation',
        ['RESTORABLE', 'is_restorable'],
        ['OBSTACLE', 'obstacle'],
      ],
    })
    const { earliest_at: at, earlier_reason: reason } = answer as z.infer<typeof recoveryPointList>
    if (!call.isSet('json')) call.terminal.note(`earliest time: ${at ?? 'none'}, because ${reason}`)
  },
}
