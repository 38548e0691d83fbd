import { expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/all-commands.ts'
import { optionsOf } from '../../src/cli/help.ts'
import { ENDPOINTS } from '../../src/cli/generated/endpoints.ts'
import { type EndpointId, endpointOf, filledPath, pathParameters } from '../../src/cli/endpoint.ts'
import { cliEndpoints, cliFields } from '../../scripts/checks/cli-endpoints.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { optionName } from '../../src/cli/api/fields.ts'
import { PATH_VALUES } from '../contract/route-probes.ts'

/** Paths of routes without a command, and why. A new route needs a command, or a line here. */
const WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  '/api/health/ready': 'load balancers ask; people use `lockhouse status`',
  '/api/auth/methods': 'the sign-in page asks',
  '/api/auth/session': 'browsers open sessions; `lockhouse logout` ends one',
  '/api/auth/login': 'browsers sign in; `lockhouse login` uses the device flow',
  '/api/auth/callback': 'the identity provider sends browsers there',
  '/api/auth/backchannel-logout': 'the identity provider reports logouts there',
  '/api/notifications/pending-approvals': '`lockhouse approvals --status pending` shows the same requests',
  '/metrics': 'Prometheus reads them',
  '/api/openapi.json': 'programs read it',
}

const endpoints = Object.keys(ENDPOINTS).map((id) => [id, endpointOf(id as EndpointId)] as const)
const called = new Set<string>(Object.values(COMMANDS).flatMap((command) => command.endpoints))

it('every route has a command or a reason to have none', () => {
  const missing = endpoints.filter(([id, { path }]) => !called.has(id) && !Object.hasOwn(WITHOUT_COMMAND, path))
  expect(missing.map(([id]) => id)).toEqual([])
})

it('reasons name only routes that exist and that no command calls', () => {
  const free = new Set<string>(endpoints.flatMap(([id, { path }]) => (called.has(id) ? [] : [path])))
  expect(Object.keys(WITHOUT_COMMAND).filter((path) => !free.has(path))).toEqual([])
})

it('generated endpoints match the table of routes; `npm run api-docs` updates them', () => {
  const text = (name: string): string =>
    readFileSync(join(import.meta.dirname, '../../src/cli/generated', name), 'utf8')
  expect(text('endpoints.ts')).toBe(cliEndpoints())
  expect(text('fields.ts')).toBe(cliFields())
})

it('an option accepts the values that a field of the route accepts', () => {
  for (const [name, command] of Object.entries(COMMANDS)) {
    const fields = command.endpoints.flatMap((id) =>
      Object.entries({ ...endpointOf(id).query, ...endpointOf(id).body }),
    )
    for (const [option, { choices }] of Object.entries(optionsOf(command))) {
      const accepted = fields.filter(([field]) => optionName(field) === option).map(([, spec]) => spec.choices)
      // requests of columns are unions, of which the list of routes knows no fields
      if (choices !== undefined && accepted.length > 0) expect(accepted, `${name} --${option}`).toContainEqual(choices)
    }
  }
  expect(optionsOf(COMMANDS['compact']!)['engine']).toMatchObject({ choices: ['auto', 'embedded', 'spark'] })
})

it('a path encodes the values of its parameters', () => {
  const path = '/api/pipeline-defs/{def_id}/versions/{a}/diff/{b}'
  expect(pathParameters(path)).toEqual(['def_id', 'a', 'b'])
  expect(filledPath(path, { def_id: 'a/b', a: '../x', b: 'ü' })).toBe(
    '/api/pipeline-defs/a%2Fb/versions/..%2Fx/diff/%C3%BC',
  )
  expect(
    endpoints.flatMap(([, { path: one }]) => pathParameters(one)).filter((name) => !(name in PATH_VALUES)),
  ).toEqual([])
})
