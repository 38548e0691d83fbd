import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ServedService, startServedService } from '../support/served.ts'
import type { TestService } from '../support/service.ts'
import { runHere } from './in-process.ts'
import { type Ran, runLockhouse } from './lockhouse-process.ts'

const ENVIRONMENT = `kind: Environment
name: qa
parameters: { schema: sales, api_key: "env:LAKE_KEY" }
writes: ["sales.*"]
`
const POLICY = `kind: Policy
name: nightly
tables: ["sales.*"]
operations:
  - operation: compact
when: { health_below: 80 }
`
const DEFINITION = `kind: PipelineDefinition
name: orders
description: Orders
nodes:
  - { id: in, type: iceberg-source, config: { table: sales.orders } }
  - { id: out, type: iceberg-sink, config: { table: sales.copy } }
edges:
  - { id: e, source: in, target: out }
`
const ALERT = `kind: Alert
name: failures
events: ["pipeline.failed"]
channel: { type: webhook, url: "env:LAKE_HOOK" }
`
const ALL = [ENVIRONMENT, POLICY, DEFINITION, ALERT].join('---\n')

let served: ServedService
let service: TestService
let folder: string
beforeAll(async () => {
  served = await startServedService({ env: { LAKE_KEY: 'x', LAKE_HOOK: 'https://hooks.example.com/secret' } })
  service = served.service
})
afterAll(() => served.stop(false))
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lockhouse-files-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
  await clear()
})

/** Deletes all objects, whoever has them, and leaves the environments to people. */
async function clear(): Promise<void> {
  for (const [list, member] of [
    ['policies', 'policies'],
    ['alerts', 'alerts'],
    ['pipeline-defs', undefined],
  ] as const) {
    const { body } = await service.get(`/api/${list}`)
    for (const { id } of member === undefined ? body : body[member]) {
      await service.call('DELETE', `/api/${list}/${id}?adopt=true`)
    }
  }
  const change = { parameters: {}, writes: ['*'] }
  await service.call('PUT', '/api/environments/qa?adopt=true', { body: change })
}

async function file(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true })
  await writeFile(join(folder, name), text)
}

const run = (...args: readonly string[]): Promise<Ran> => runHere(args, { cwd: folder, service })
const apply = (...more: readonly string[]): Promise<Ran> => run('apply', '.', '--owner', 'lake', '--yes', ...more)
const plan = (...more: readonly string[]): Promise<Ran> => run('plan', '.', '--owner', 'lake', ...more)
const actions = ({ out }: Ran): readonly string[] =>
  JSON.parse(out).objects.map(({ action, kind, name }: Record<string, string>) => `${action} ${kind} ${name}`)
const ADOPT = ['--adopt'] // the environment was changed by the tests before

describe('files that describe objects', { timeout: 180_000 }, () => {
  it('are planned, applied, and equal the service afterwards', async () => {
    const spawned = (...args: readonly string[]) => runLockhouse(args, { cwd: folder, host: served.host })
    await file('lake.yaml', ALL)
    const planned = await spawned('plan', '.', '--owner', 'lake', '--json', ...ADOPT)
    expect([planned.code, planned.err]).toEqual([0, ''])
    expect(actions(planned)).toEqual([
      'update Environment qa',
      'create Policy nightly',
      'create PipelineDefinition orders',
      'create Alert failures',
    ])
    expect((await service.get('/api/policies')).body.policies).toEqual([])
    const { fingerprint } = JSON.parse(planned.out)
    const line = ['apply', '.', '--owner', 'lake', '--yes', '--fingerprint', fingerprint]
    const applied = await spawned(...line, ...ADOPT)
    expect([applied.code, applied.out.trim().split('\n')]).toEqual([
      0,
      [
        'updated Environment qa',
        'created Policy nightly',
        'created PipelineDefinition orders',
        expect.stringMatching(/^created Alert failures: signing secret, shown once: whsec_\S+$/),
      ],
    ])
    expect(await spawned('diff', '.', '--exit-code')).toMatchObject({ code: 0, err: 'no differences\n' })
    const before = (await service.get('/api/audit')).body.length
    const again = await apply()
    expect([again.code, again.out, again.err]).toEqual([0, '', expect.stringContaining('nothing to do')])
    expect((await service.get('/api/audit')).body).toHaveLength(before)
    const { body: list } = await service.get('/api/pipeline-defs')
    const { body: found } = await service.get(`/api/pipeline-defs/${list[0].id}`)
    expect(found).toMatchObject({ managed_by: 'lake', latest_versions: { development: { version: 1 } } })
  })

  it('differ from the service by their changed fields alone', async () => {
    await file('lake.yaml', ALL)
    await apply(...ADOPT)
    await file('lake.yaml', ALL.replace('health_below: 80', 'health_below: 60').replace('sales.copy', 'sales.other'))
    const shown = await run('diff', '.')
    expect([shown.code, shown.out.trim().split('\n')]).toEqual([
      0,
      [
        'Policy nightly (lake.yaml:6)',
        '    /when/health_below: 80 → 60',
        'PipelineDefinition orders (lake.yaml:13)',
        '    /nodes/out/config/table: "sales.copy" → "sales.other"',
      ],
    ])
    expect((await run('diff', '.', '--exit-code')).code).toBe(1)
    const { out } = await run('diff', '.', '--json')
    expect(JSON.parse(out)).toMatchObject({ equal: false, objects: [{ state: 'equal' }, { state: 'differs' }, {}, {}] })
    const applied = await apply()
    expect(applied.out).toBe(
      'updated Policy nightly\nupdated PipelineDefinition orders: a new version in development\n',
    )
    const [{ id }] = (await service.get('/api/pipeline-defs')).body
    const { body: versions } = await service.get(`/api/pipeline-defs/${id}/versions`)
    expect(versions.map((one: { environment: string }) => one.environment)).toEqual(['development', 'development'])
    expect((await run('diff', '.', '--exit-code')).code).toBe(0)
  })

  it('an exported definition is a file, also in JSON with tabs', async () => {
    await file('lake.yaml', DEFINITION)
    await apply()
    const [{ id }] = (await service.get('/api/pipeline-defs')).body
    const { body: found } = await service.get(`/api/pipeline-defs/${id}`)
    const version = found.latest_versions.development.id
    const { body: exported } = await service.get(`/api/pipeline-defs/${id}/versions/${version}/export`)
    await rm(join(folder, 'lake.yaml'))
    const document = { kind: 'PipelineDefinition', ...exported }
    await file('deep/folder/orders.json', JSON.stringify(document, undefined, '\t'))
    await file('notes.txt', 'no: [yaml')
    await file('.hidden/wrong.yaml', 'no: [yaml')
    expect(actions(await plan('--json'))).toEqual(['unchanged PipelineDefinition orders'])
  })

  it('objects of others and of people are refused until they are adopted', async () => {
    await file('lake.yaml', POLICY)
    const { id } = (await service.post('/api/policies', JSON.parse(policyJson('by hand')))).body
    await file('lake.yaml', POLICY.replace('nightly', 'by hand'))
    const refused = await apply()
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('made by hand: --adopt takes it over')])
    expect((await service.get(`/api/policies/${id}`)).body.managed_by).toBe(null)
    expect((await apply('--adopt')).out).toBe('updated Policy by hand\n')
    expect((await service.get(`/api/policies/${id}`)).body.managed_by).toBe('lake')
    const other = await run('plan', '.', '--owner', 'other')
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('managed by lake')])
    const change = JSON.parse(policyJson('by hand'))
    const edited = await service.call('PUT', `/api/policies/${id}`, { body: change })
    expect(edited.body.detail).toContain('the object is managed by lake')
  })

  it('objects that no file describes any more stay without --prune, and only those of the owner go', async () => {
    await file('lake.yaml', ALL)
    await apply(...ADOPT)
    await service.post('/api/policies', JSON.parse(policyJson('by hand')))
    await file('lake.yaml', '# nothing is left\n')
    expect((await plan()).out).toContain('4 of lake not in the files: --prune removes them')
    expect(actions(await plan('--prune', '--json'))).toEqual([
      'delete Alert failures',
      'delete PipelineDefinition orders',
      'delete Policy nightly',
      'release Environment qa',
    ])
    const { code, out } = await apply('--prune')
    expect([code, out.trim().split('\n')]).toEqual([
      0,
      [
        'deleted Alert failures',
        'deleted PipelineDefinition orders',
        'deleted Policy nightly',
        'released Environment qa',
      ],
    ])
    const { body } = await service.get('/api/environments/qa')
    expect(body).toMatchObject({ managed_by: null, writes: ['sales.*'] })
    expect((await service.get('/api/policies')).body.policies).toHaveLength(1)
  })

  it('a definition in production is neither described anew nor deleted, and gets new versions', async () => {
    await file('lake.yaml', DEFINITION)
    await apply()
    const [{ id }] = (await service.get('/api/pipeline-defs')).body
    const { body } = await service.get(`/api/pipeline-defs/${id}`)
    const version = `/api/pipeline-defs/${id}/versions/${body.latest_versions.development.id}`
    await service.post(`${version}/promote`, {})
    const { body: request } = await service.post(`${version}/promote`, {})
    await service.post(`/api/approvals/${request.id}/approve`, {})
    await file('lake.yaml', DEFINITION.replace('description: Orders', 'description: Other'))
    expect((await apply()).err).toContain('version 1 is in uat')
    await file('lake.yaml', '')
    expect((await apply('--prune')).err).toContain('version 1 is in uat')
    await file('lake.yaml', DEFINITION.replace('sales.copy', 'sales.other'))
    expect((await apply()).out).toContain('a new version in development')
    await service.post(`${version}/demote`, {})
  })

  it('an application that fails in the middle says what it did, and a repetition goes on', async () => {
    const alert = ALERT.replace('env:LAKE_HOOK', 'env:FORBIDDEN')
    await file('lake.yaml', [POLICY, DEFINITION, alert, ALERT.replace('failures', 'later')].join('---\n'))
    const { code, out, err } = await apply('--json')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      success: false,
      made: [{ kind: 'Policy' }, { kind: 'PipelineDefinition' }],
      failed: { kind: 'Alert', name: 'failures' },
      left: [{ kind: 'Alert', name: 'later' }],
    })
    expect(err).toMatch(/^lockhouse: UNPROCESSABLE: .*env:FORBIDDEN.*2 of 4 changes were made; repeat/)
    await file('lake.yaml', [POLICY, DEFINITION, ALERT].join('---\n'))
    expect((await apply()).out).toMatch(/^created Alert failures: .*\n$/)
  })

  it('a plan that is not the one that was read is not applied', async () => {
    await file('lake.yaml', POLICY)
    const { fingerprint } = JSON.parse((await plan('--json')).out)
    await file('lake.yaml', POLICY.replace('80', '70'))
    const { code, err } = await apply('--fingerprint', fingerprint)
    expect([code, err]).toEqual([1, expect.stringContaining('the plan is another one now')])
    expect((await service.get('/api/policies')).body.policies).toEqual([])
  })

  it('applications at the same time create each object once, and a repetition finds nothing to do', async () => {
    await file('lake.yaml', ALL)
    const ran = await Promise.all([apply(...ADOPT), apply(...ADOPT), apply(...ADOPT)])
    expect(ran.filter(({ code }) => code === 0).length).toBeGreaterThan(0)
    for (const { code, err } of ran.filter(({ code }) => code !== 0)) {
      expect([code, err]).toEqual([1, expect.stringMatching(/CONFLICT|PRECONDITION_FAILED/)])
    }
    expect((await apply()).err).toContain('nothing to do')
    expect((await service.get('/api/pipeline-defs')).body).toHaveLength(1)
  })

  it('names have any characters that the service accepts', async () => {
    const name = '../a "b" ${c}\u202e/é'
    await file('lake.json', JSON.stringify({ kind: 'PipelineDefinition', name, nodes: [], edges: [] }))
    const { out } = await apply()
    expect(out).toBe(`created PipelineDefinition ../a "b" \${c}${String.raw`\u202e`}/é\n`)
    expect(actions(await plan('--json'))).toEqual([`unchanged PipelineDefinition ${name}`])
  })

  it('several definitions of one name are refused', async () => {
    await file('lake.yaml', DEFINITION)
    for (let count = 0; count < 2; count++) await service.post('/api/pipeline-defs', { name: 'orders' })
    expect((await apply('--adopt')).err).toContain('several have this name')
    expect((await run('diff', '.')).out).toContain('several have this name')
  })

  it('an application needs --yes where nobody can be asked, and an owner', async () => {
    await file('lake.yaml', POLICY)
    expect(await run('apply', '.', '--owner', 'lake')).toMatchObject({ code: 2, out: '' })
    expect(await run('apply', '.', '--yes')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--owner is missing'),
    })
    expect((await run('plan', '.', '--owner', ' x')).code).toBe(2)
  })

  it('an application asks on a terminal, and changes nothing without a yes', async () => {
    await file('lake.yaml', POLICY)
    const questions: string[] = []
    const answer = (text: string) => async (question: string) => {
      questions.push(question)
      return text
    }
    const asked = (text: string): Promise<Ran> =>
      runHere(['apply', '.', '--owner', 'lake'], { cwd: folder, service, answer: answer(text) })
    expect(await asked('no')).toMatchObject({ code: 1, err: expect.stringContaining('nothing was changed') })
    expect((await service.get('/api/policies')).body.policies).toEqual([])
    expect(await asked('y')).toMatchObject({ code: 0, out: 'created Policy nightly\n' })
    expect(await asked('no')).toMatchObject({ code: 0, err: expect.stringContaining('nothing to do') })
    expect(questions).toEqual(['Make this change? [y/N] ', 'Make this change? [y/N] '])
  })

  it('an edit between the plan and its change is refused', async () => {
    await file('lake.yaml', [POLICY, DEFINITION].join('---\n'))
    await apply()
    const change = [POLICY.replace('80', '70'), DEFINITION.replace('sales.copy', 'sales.other')].join('---\n')
    await file('lake.yaml', change)
    const edit = async (): Promise<string> => {
      const [{ id, ...policy }] = (await service.get('/api/policies')).body.policies
      const body = { ...JSON.parse(policyJson(policy.name)), priority: 7 }
      await service.call('PUT', `/api/policies/${id}?managed_by=lake`, { body })
      return 'yes'
    }
    const ran = await runHere(['apply', '.', '--owner', 'lake'], { cwd: folder, service, answer: edit })
    expect(ran).toMatchObject({ code: 1, out: '', err: expect.stringContaining('PRECONDITION_FAILED') })
    expect(ran.err).toContain('not done: update PipelineDefinition orders\n')
    expect((await service.get('/api/policies')).body.policies[0].priority).toBe(7)
    const newVersion = async (): Promise<string> => {
      const [{ id }] = (await service.get('/api/pipeline-defs')).body
      await service.post(`/api/pipeline-defs/${id}/versions?managed_by=lake`, { nodes: [], edges: [] })
      return 'yes'
    }
    const again = await runHere(['apply', '.', '--owner', 'lake'], { cwd: folder, service, answer: newVersion })
    expect(again).toMatchObject({ code: 1, out: 'updated Policy nightly\n' })
    expect(again.err).toContain('PRECONDITION_FAILED')
    expect((await apply()).out).toBe('updated PipelineDefinition orders: a new version in development\n')
  })

  it('a data engineer plans definitions alone, because only leads read alerts', async () => {
    await file('lake.yaml', DEFINITION)
    const { body } = await service.post('/api/auth/tokens', { user: 'dee', role: 'DataEngineer', name: 'files' })
    const as = (...args: readonly string[]): Promise<Ran> => runHere(args, { cwd: folder, service, token: body.token })
    const line = ['apply', '.', '--owner', 'lake', '--yes']
    expect(await as(...line)).toMatchObject({ code: 0, out: 'created PipelineDefinition orders\n' })
    expect((await as(...line, '--prune')).err).toContain('FORBIDDEN')
    await file('lake.yaml', ALERT)
    expect((await as(...line)).err).toContain('FORBIDDEN')
  })

  it('a link to a missing file, a missing folder and a folder without files are errors', async () => {
    expect((await plan()).err).toBe(`lockhouse: ${folder} has no YAML or JSON files\n`)
    await symlink('gone', join(folder, 'gone.yaml'))
    expect((await plan()).err).toBe('lockhouse: file or folder gone.yaml does not exist\n')
    expect((await run('diff', 'missing')).err).toBe('lockhouse: file or folder missing does not exist\n')
  })

  function policyJson(name: string): string {
    const policy = { name, tables: ['a.*'], operations: [{ operation: 'compact' }], when: { health_below: 80 } }
    return JSON.stringify(policy)
  }
})
