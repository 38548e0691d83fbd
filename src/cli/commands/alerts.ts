import { callCommand, listCommand } from '../api/api-command.ts'
import type { Command } from '../command.ts'

const ANSWERED = [
  'id',
  'destination',
  'silenced_until',
  'active_conditions',
  'managed_by',
  'revision',
  'created_by',
  'created_at',
  'updated_at',
] as const

/** Commands for alert rules. They show the channel as the API does, whatever its kind. */
export const alertCommands: Readonly<Record<string, Command>> = {
  alerts: listCommand('listAlerts', {
    columns: [
      'name',
      'events',
      'tables',
      'pipelines',
      ['CHANNEL', 'channel.type'],
      'destination',
      ['ACTIVE', 'active_conditions'],
      ['SILENCED UNTIL', 'silenced_until'],
    ],
    none: 'no alerts',
    examples: ['lockhouse alerts'],
  }),
  'alerts show': callCommand('getAlert', { examples: ['lockhouse alerts show failures'] }),
  'alerts create': callCommand('createAlert', {
    summary: 'create an alert rule from a file with its JSON',
    file: 'required',
    ignores: ANSWERED,
    examples: ['lockhouse alerts create failures.json'],
  }),
  'alerts update': callCommand('updateAlert', {
    summary: 'replace an alert rule by that of a file; *** keeps a stored secret',
    file: 'required',
    ignores: ANSWERED,
    examples: ['lockhouse alerts update failures failures.json'],
  }),
  'alerts test': callCommand('testAlert', {
    fails: ({ state, last_error: error }) =>
      state === 'delivered' ? undefined : `the test was not delivered${typeof error === 'string' ? `: ${error}` : ''}`,
    examples: ['lockhouse alerts test failures'],
  }),
  'alerts silence': callCommand('silenceAlert', {
    summary: 'record notifications without sending them until a time; without a time, end that',
    words: ['until'],
    fields: ['id', 'name', 'silenced_until'],
    examples: ['lockhouse alerts silence failures 2026-12-01T06:00:00Z', 'lockhouse alerts silence failures'],
  }),
  'alerts deliveries': listCommand('listAlertDeliveries', {
    columns: [
      ['CREATED', 'created_at'],
      'kind',
      ['EVENT', 'event_type'],
      'object',
      'state',
      'attempts',
      ['STATUS', 'last_status'],
      ['ERROR', 'last_error'],
    ],
    none: 'no deliveries yet',
    limit: 100,
    examples: ['lockhouse alerts deliveries failures'],
  }),
  'alerts delete': callCommand('deleteAlert', {
    confirm: 'Delete the alert {} and its queued notifications?',
    done: 'the alert {} is deleted',
    examples: ['lockhouse alerts delete failures --yes'],
  }),
}
