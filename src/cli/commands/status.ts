import type { ServiceHealth } from '../../schemas/service-health.ts'
import type { Command } from '../command.ts'
import { CommandError } from '../errors.ts'
import { JSON_OPTION, showPairs } from '../show.ts'

export const status: Command = {
  summary: 'show whether the service and its parts work; end with 1 when a part fails',
  endpoints: ['getServiceHealth', 'getLiveness'],
  names: [],
  options: { live: { help: 'only whether the process answers; prints nothing' }, ...JSON_OPTION },
  examples: ['lockhouse status', 'lockhouse status --live && echo up'],
  async run(call) {
    if (call.isSet('live')) return void (await call.api.get('/api/health/live'))
    const health = await call.api.get<ServiceHealth>('/api/health')
    const parts = Object.entries(health.checks)
    showPairs(call, health, [
      ['status', health.status],
      ['version', health.version],
      ['up for', `${Math.round(health.uptime_s)} s`],
      ...parts.map(([name, found]): [string, string] => [name, found]),
      ...health.problems.map(({ check, detail }): [string, string] => [`${check} problem`, detail]),
    ])
    const failed = parts.filter(([, found]) => found === 'failed').map(([name]) => name)
    if (failed.length > 0) throw new CommandError(`${failed.join(', ')} failed`)
  },
}
