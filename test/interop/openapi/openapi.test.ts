import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Role, ROLES } from '../../../src/domain/roles.ts'
import { Service } from '../harness/service.ts'

const clients = process.env['LOCKHOUSE_CLIENTS']
if (clients === undefined) {
  console.warn(
    'The OpenAPI document is not judged by other tools: LOCKHOUSE_CLIENTS is not set (scripts/setup/clients.sh)',
  )
}

const HERE = import.meta.dirname
const run = promisify(execFile)

describe.skipIf(clients === undefined)('the OpenAPI document', () => {
  const tools = clients ?? ''
  const python = join(tools, 'venv', 'bin')
  let folder: string
  let service: Service
  let document: string
  let url: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-openapi-'))
    service = await Service.start({ home: join(folder, 'home'), env: { LOCKHOUSE_DEMO: '1' } })
    url = `http://127.0.0.1:${service.port}`
    document = join(folder, 'openapi.json')
    await writeFile(document, JSON.stringify((await service.get('/api/openapi.json')).body))
    await vi.waitFor(async () => expect((await service.get('/api/table/demo.events/health')).status).toBe(200), {
      timeout: 60_000,
      interval: 200,
    })
  })
  afterAll(async () => {
    await service?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function tokenOf(role: string): Promise<string> {
    const { status, body } = await service.post('/api/auth/tokens', { user: `openapi-${role}`, role, name: 'openapi' })
    expect(status).toBe(201)
    return String(body['token'])
  }

  it('is valid', async () => {
    const { stdout } = await run(join(python, 'openapi-spec-validator'), [document])
    expect(stdout).toContain('OK')
  })

  it('produces a TypeScript client whose types compile and whose calls work', async () => {
    const project = join(folder, 'typescript')
    await mkdir(project)
    await symlink(join(tools, 'npm', 'node_modules'), join(project, 'node_modules'))
    await writeFile(join(project, 'package.json'), '{"type": "module"}')
    await copyFile(join(HERE, 'list-tables.ts.txt'), join(project, 'list-tables.ts'))
    const bin = (name: string) => join(tools, 'npm', 'node_modules', '.bin', name)
    await run(bin('openapi-typescript'), [document, '-o', join(project, 'lockhouse.ts')])
    const options = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--skipLibCheck',
      '--types',
      'node',
    ]
    await run(bin('tsc'), [...options, 'list-tables.ts'], { cwd: project }).catch((error) => {
      throw new Error(`the generated types do not compile:\n${error.stdout}`)
    })
    const { stdout } = await run('node', ['list-tables.js', url, await tokenOf('DataEngineer')], { cwd: project })
    const answer = JSON.parse(stdout)
    expect(answer.tables).toContain('demo.events')
    expect(answer).toMatchObject({ operation: 'compact', code: 'NO_SUCH_TABLE' })
  })

  it('produces a Python client that includes every endpoint, and its calls work', async () => {
    const target = join(folder, 'lockhouse_client')
    const args = ['generate', '--path', document, '--meta', 'none', '--output-path', target]
    const { stdout, stderr } = await run(join(python, 'openapi-python-client'), args)
    expect(stdout + stderr).not.toContain('WARNING')
    expect(stdout + stderr).not.toContain('will not be generated')
    const call = join(HERE, 'list_tables.py')
    const token = await tokenOf('DataEngineer')
    const answer = JSON.parse((await run(join(python, 'python'), [call, folder, url, token])).stdout)
    expect(answer.tables).toContain('demo.events')
    expect(answer).toMatchObject({ operation: 'compact', code: 'NO_SUCH_TABLE' })
  })

  /** Runs schemathesis as a role; throws its output when it found a problem. Returns the number of generated cases. */
  async function schemathesis(role: Role, flags: readonly string[]): Promise<number> {
    const reports = await mkdtemp(join(folder, 'schemathesis-'))
    const token = await tokenOf(role)
    const args = [
      '--config-file',
      join(HERE, 'schemathesis.toml'),
      'run',
      `${url}/api/openapi.json`,
      `--header=Authorization: Bearer ${token}`,
      '--seed=1',
      '--no-shrink',
      '--continue-on-failure',
      '--request-timeout=60',
      ...flags,
    ]
    const options = { cwd: reports, maxBuffer: 2 ** 26 }
    const { stdout } = await run(join(python, 'schemathesis'), args, options).catch((error) => {
      throw new Error(`${error.stdout}\n${error.stderr}`)
    })
    return Number(/([\d,]+) generated/.exec(stdout)?.[1]?.replaceAll(',', ''))
  }

  it.each(ROLES)('passes schemathesis as %s', async (role) => {
    // A lead gets past each route's check of the role; the others show that it is there, which a few requests do.
    const isLead = role === 'LeadDataEngineer'
    const cases = await schemathesis(role, [
      `--phases=examples,fuzzing${isLead ? ',coverage,stateful' : ''}`,
      `--max-examples=${isLead ? 5 : 1}`,
      // Hundreds of wrong credentials are answered 429; test/contract/routes.test.ts sends one to each route.
      '--exclude-checks=ignored_auth',
      // Endless responses: a WebSocket and a stream of events.
      '--exclude-operation-id=monitorPipelines',
      '--exclude-operation-id=watchOperation',
    ])
    console.log(`schemathesis as ${role}: ${cases} cases`)
    expect(cases).toBeGreaterThan(isLead ? 5000 : 100)
  })
})
