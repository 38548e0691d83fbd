import type { BackupManifest } from '../../server/upkeep/backup-files.ts'
import type { Restored } from '../../server/upkeep/restore.ts'
import type { Call, Command } from '../command.ts'
import { jsonText } from '../text.ts'
import { HOME_OPTION, homeOf, local } from '../local.ts'

export const backup: Command = {
  summary: 'copy state, keys and embedded catalog of a service, which may run, into a new folder',
  endpoints: [],
  names: ['FOLDER'],
  options: { ...HOME_OPTION, json: { help: 'what was copied, as JSON' } },
  examples: [
    'lockhouse backup /backups/lockhouse-2026-11-23',
    'lockhouse backup --home /var/lib/lockhouse /mnt/backup/1',
  ],
  async run(call) {
    const { createBackup } = await import('../../server/upkeep/backup.ts')
    const target = call.names[0] ?? ''
    const made = await local(() => createBackup({ home: homeOf(call), target, now: () => new Date() }))
    if (call.isSet('json')) return call.terminal.out(jsonText(made))
    call.terminal.out(`${target}: ${filesOf(made)}`)
    call.terminal.note('It has the keys of the service: keep it as secret as they are. Tables are not in it.')
    const { terminal, env } = call
    if (env['DATABASE_URL'] !== undefined) terminal.note('The state is in PostgreSQL: back it up with pg_dump.')
  },
}

export const restore: Command = {
  summary: 'make a folder for a service from a backup',
  endpoints: [],
  names: ['FOLDER'],
  options: { ...HOME_OPTION, json: { help: 'what was restored, as JSON' } },
  examples: ['lockhouse restore /backups/lockhouse-2026-11-23 --home /var/lib/lockhouse'],
  async run(call) {
    const { restoreBackup } = await import('../../server/upkeep/restore.ts')
    const home = homeOf(call)
    const made = await local(() => restoreBackup({ source: call.names[0] ?? '', home }))
    if (call.isSet('json')) return call.terminal.out(jsonText(made))
    call.terminal.out(`${home}: ${filesOf(made)}, as of ${made.created_at}`)
    describeTables(call, made)
  },
}

function filesOf({ files }: BackupManifest): string {
  return files.map(({ name }) => name).join(', ')
}

function describeTables({ terminal }: Call, { tables, missing }: Restored): void {
  if (tables > 0) {
    terminal.note(
      `The catalog has ${tables} tables, whose files are where they were: end the service that used them before this one starts.`,
    )
  }
  if (missing.length > 0) {
    terminal.note(`The current metadata file of ${missing.length} tables does not exist: ${missing.join(', ')}`)
  }
}
