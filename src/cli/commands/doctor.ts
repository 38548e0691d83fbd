import type { Command } from '../command.ts'
import { CommandError } from '../errors.ts'
import { HOME_OPTION, homeOf } from '../local.ts'
import { showRows } from '../show.ts'

export const doctor: Command = {
  summary: 'check settings, folder, disk, keys, state, catalog, engine, clock and port of this machine',
  endpoints: [],
  names: [],
  options: { ...HOME_OPTION, json: { help: 'the findings, as JSON' } },
  examples: ['lockhouse doctor', 'lockhouse doctor --home /var/lib/lockhouse --json'],
  async run(call) {
    const { diagnose } = await import('../../server/upkeep/doctor.ts')
    const { workerCommand } = call.bundle(homeOf(call)) ?? {}
    const findings = await diagnose({ env: { ...call.env, LOCKHOUSE_HOME: homeOf(call) }, workerCommand })
    showRows(call, findings, {
      rows: findings,
      none: 'nothing was checked',
      columns: [
        { header: 'CHECK', cell: ({ check }) => check },
        { header: 'RESULT', cell: ({ status }) => status },
        { header: 'DETAIL', cell: ({ detail }) => detail },
        { header: 'WHAT TO DO', cell: ({ advice }) => advice },
      ],
    })
    const count = findings.filter(({ status }) => status === 'failed').length
    if (count > 0) throw new CommandError(`${count} of ${findings.length} checks failed`)
  },
}
