import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/all-commands.ts'
import { helpText, optionsOf } from '../../src/cli/help.ts'
import { progressText } from '../../src/cli/operation-progress.ts'
import { plainLines, textList, textTable } from '../../src/cli/text.ts'
import { LONG } from '../support/effort.ts'
import { LOCKHOUSE, type Ran, runLockhouse } from './lockhouse-process.ts'
import { freePort } from '../support/network/free-port.ts'
import { type ServedService, startServedService } from '../support/served.ts'
import { ADMIN_TOKEN, type TestService } from '../support/service.ts'
import { cleanEnvironment } from '../support/clean-environment.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

describe('the command lockhouse', { timeout: 180_000 }, () => {
  let service: TestService
  let served: ServedService
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-cli-'))
    served = await startServedService({ events: { commits: 6, filesPerCommit: 5, rowsPerFile: 100 } })
    service = served.service
  })
  afterAll(async () => {
    await served.stop(false)
    await rm(folder, { recursive: true, force: true })
  })

  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> =>
    runLockhouse(args, { cwd: folder, host: served.host, env })
  const json = async (...args: string[]) => {
    const { out, err, code } = await run([...args, '--json'])
    expect(code, err).toBe(0)
    return JSON.parse(out)
  }

  it('previews, compacts and shows the table and its operation', async () => {
    const preview = await json('compact', 'demo.events', '--dry-run')
    expect(JSON.parse(preview.details_json)).toMatchObject({ rewritten_data_files_count: 30 })
    const before = await run(['health', 'demo.events'])
    expect(before.out).toMatch(/^data files\s+30$/m)
    const stale = await run(['compact', 'demo.events', '--plan', 'plan-none'])
    expect(stale).toMatchObject({ code: 1, out: '' })
    expect(stale.err).toMatch(/^lockhouse: NOT_FOUND: .+\n$/)
    const done = await run(['compact', 'demo.events', '--plan', preview.plan_id])
    expect(done.err).toContain('has started')
    expect(done.out).toMatch(/^rows written\s+2970$/m)
    expect(done.code).toBe(0)
    expect((await run(['health', 'demo.events'])).out).toMatch(/^data files\s+1$/m)
    const { operations } = await json('operations', '--table', 'demo.events')
    expect(operations[0]).toMatchObject({ operation: 'compact', state: 'succeeded' })
    expect((await run(['operations'])).out).toMatch(/compact\s+demo\.events\s+succeeded/)
  })

  it('lists recovery points, and plans a rollback to a time', async () => {
    const { recovery_points: points, earliest_at } = await json('tables', 'recovery-points', 'demo.events')
    const listed = await run(['tables', 'recovery-points', 'demo.events', '--limit', '1'])
    expect(listed.out).toMatch(/^FROM +UNTIL +SNAPSHOT +OPERATION +RESTORABLE +OBSTACLE\n\S+ +- +\d+ +replace +yes/)
    expect(listed.err).toContain(`earliest time: ${earliest_at}, because the table had no snapshot before`)
    const now = await json('tables', 'recovery-points', 'demo.events', '--at', '2099-01-01T00:00Z') // without seconds
    expect(now.recovery_points).toEqual([points[0]])
    const plan = await json('rollback', 'demo.events', '--to', points[1].made_current_at, '--dry-run')
    expect(JSON.parse(plan.details_json)).toMatchObject({
      current_snapshot_id: points[1].snapshot_id,
      undone_snapshots_count: 1,
    })
    const untold = await run(['rollback', 'demo.events', '--dry-run'])
    expect(untold).toMatchObject({ code: 2, err: expect.stringContaining('SNAPSHOT-ID or --to is missing') })
  })

  it('shows whether the service works, without a token', async () => {
    const env = { LOCKHOUSE_TOKEN: '' }
    const { code, out } = await run(['status'], env)
    expect(code).toBe(0)
    expect(out).toMatch(/^status +ok$/m)
    expect(out).toMatch(/^catalog +ok$/m)
    expect(await run(['status', '--live'], env)).toEqual({ code: 0, out: '', err: '' })
    const gone = await run(['status', '--live'], { LOCKHOUSE_SERVER: `http://127.0.0.1:${await freePort()}` })
    expect([gone.code, gone.out]).toEqual([1, ''])
    expect(gone.err).toMatch(/^lockhouse: .+\n$/)
  })

  it('takes nothing away without a confirmation', async () => {
    const snapshots = async () => (await service.get('/api/table/demo.events/snapshots')).body.snapshots.length
    const before = await snapshots()
    const refused = await run(['expire', 'demo.events', '--retain-last', '1', '--older-than', '2100-01-01T00:00:00Z'])
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toContain('--yes')
    expect(await snapshots()).toBe(before)
    const done = await run([
      'expire',
      'demo.events',
      '--retain-last',
      '1',
      '--older-than',
      '2100-01-01T00:00:00Z',
      '--yes',
    ])
    expect(done.code, done.err).toBe(0)
    expect(await snapshots()).toBe(1)
  })

  it('refuses a column beside the plan of another column, and drops neither', async () => {
    const columns = async () =>
      (await service.get('/api/table/demo.events/schema')).body.columns.map(({ name }: { name: string }) => name)
    await run(['add-column', 'demo.events', 'note', 'string'])
    const before = await columns()
    expect(before).toContain('note')
    const { plan_id: plan } = await json('drop-column', 'demo.events', 'note', '--dry-run')
    const shown = await run(['drop-column', 'demo.events', 'note', '--dry-run'])
    expect(shown.out).toMatch(/^used by +no pipeline and no version$/m)
    const refused = await run(['drop-column', 'demo.events', before[0], '--plan', plan, '--yes'])
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('name differs from the plan')
    expect(await columns()).toEqual(before)
    expect((await run(['drop-column', 'demo.events', '--plan', plan, '--yes'])).code).toBe(0)
    expect(await columns()).toEqual(before.filter((name: string) => name !== 'note'))
  })

  it.skipIf(spawnSync('script', ['--version']).status !== 0)(
    'asks on a terminal, and does nothing for another answer',
    async () => {
      const command = `${LOCKHOUSE.join(' ')} remove-orphans demo.events`
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        cwd: folder,
        stdio: ['pipe', 'pipe', 'ignore'],
        env: { ...cleanEnvironment, LOCKHOUSE_SERVER: `http://${served.host}`, LOCKHOUSE_TOKEN: ADMIN_TOKEN },
      })
      let seen = ''
      child.stdout.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        if (seen.includes('[y/N]') && child.stdin.writable) child.stdin.end('n\n')
      })
      const [code] = await once(child, 'close')
      expect(seen).toContain('nothing was changed')
      expect(code).toBe(1)
      expect(
        (await json('operations')).operations.filter((one: { operation: string }) => /orphan/.test(one.operation)),
      ).toEqual([])
    },
  )

  it.skipIf(spawnSync('script', ['--version']).status !== 0)(
    'a confirmed operation prints its plan before the question, and only JSON on standard output with --json',
    async () => {
      const expire = 'expire demo.events --retain-last 1 --older-than 2100-01-01T00:00:00Z --json'
      const command = `${LOCKHOUSE.join(' ')} ${expire} > confirmed.json`
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        cwd: folder,
        stdio: ['pipe', 'pipe', 'ignore'],
        env: { ...cleanEnvironment, LOCKHOUSE_SERVER: `http://${served.host}`, LOCKHOUSE_TOKEN: ADMIN_TOKEN },
      })
      let seen = ''
      child.stdout.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        if (seen.includes('[y/N]') && child.stdin.writable) child.stdin.end('y\n')
      })
      const [code] = await once(child, 'close')
      expect(code, seen).toBe(0)
      expect(seen).toMatch(/^plan +plan-\S+[^]*would expire snapshots[^]*\[y\/N\]/m)
      const printed = await readFile(join(folder, 'confirmed.json'), 'utf8')
      expect(JSON.parse(printed)).toMatchObject({ operation: 'expire', state: 'succeeded' })
    },
  )

  it.each(['lh_one\nlh_two', 'lh_sécret', 'lh_one lh_two'])(
    'refuses the token %j and does not print it',
    async (token) => {
      const file = join(folder, 'wrong-token')
      await writeFile(file, `${token}\n`)
      const ofVariable = await run(['tables'], { LOCKHOUSE_TOKEN: token })
      const ofFile = await run(['tables', '--token-file', file])
      const reason = 'is not one token: a token is one word of ASCII characters'
      expect(ofVariable).toEqual({ code: 1, out: '', err: `lockhouse: LOCKHOUSE_TOKEN ${reason}\n` })
      expect(ofFile).toEqual({ code: 1, out: '', err: `lockhouse: ${file} ${reason}\n` })
    },
  )

  it('creates a token that works, lists it without its secret, and revokes it', async () => {
    const created = await run(['token', 'create', '--user', 'ana', '--role', 'Auditor', '--name', 'test'])
    const secret = created.out.trim()
    expect(secret).toMatch(/^lh_\S+$/)
    expect((await run(['tables'], { LOCKHOUSE_TOKEN: secret })).code).toBe(0)
    const listed = await run(['token', 'list'])
    expect(listed.out).toMatch(/ana\s+Auditor\s+test/)
    expect(listed.out).not.toContain(secret)
    const refused = await run(['token', 'list'], { LOCKHOUSE_TOKEN: secret })
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toMatch(/^lockhouse: FORBIDDEN: /)
    const [, id = ''] = /(tok-\S+)\s+ana/.exec(listed.out) ?? []
    expect((await run(['token', 'revoke', id, '--yes'])).code).toBe(0)
    expect((await run(['tables'], { LOCKHOUSE_TOKEN: secret })).err).toMatch(/^lockhouse: UNAUTHENTICATED: /)
  })

  it.each(['tables', 'operations', 'pipelines', 'definitions', 'approvals'])(
    'lists %s for programs and people',
    async (name) => {
      expect(typeof (await json(name))).toBe('object')
      const { code, out, err } = await run([name])
      expect(code).toBe(0)
      expect(out + err).not.toBe('')
    },
  )

  it.each([
    [['fly'], 'unknown command fly'],
    [['health'], 'TABLE is missing'],
    [['health', 'a', 'b'], 'unexpected argument b'],
    [['compact', 'a.b', '--rewrite-al'], "Unknown option '--rewrite-al'"],
    [['compact', 'a.b', '--target-file-size', 'big'], '--target-file-size must be a whole number'],
    [['compact', 'a.b', '--delete-ratio-threshold', '2'], '--delete-ratio-threshold must be a number above 0 and at'],
    [['rename-column', 'a.b', 'city'], 'NEW-NAME is missing'],
    [['compact', 'a.b', '--engine', 'duckdb'], '--engine must be auto, embedded or spark, not duckdb'],
    [['tables', '--band', 'ok'], '--band must be good, fair, poor or unknown, not ok'],
    [['tables', '--sort', 'size'], '--sort must be score,'],
    [['policies', 'start'], 'policies has no command start: write show, create,'],
    [['pipelines', 'start', '--engine', 'flink'], '--engine must be auto, embedded or spark, not flink'],
    [['definitions', 'show'], 'DEFINITION is missing'],
    [['policies', 'delete', 'nightly'], 'add --yes: nobody can be asked here'],
    [['token', 'revoke', 'tok-1'], 'add --yes: nobody can be asked here'],
    [['definitions', 'undeploy', 'def-1', 'production'], 'add --yes: nobody can be asked here'],
    [['approvals', 'reject', 'pr-1'], '--reason is missing'],
    [['operations', '--limit', '0'], '--limit must be 1 or more'],
    [['definitions', 'version', 'def-1', 'latest'], 'a version is a number such as 2, or an id, not latest'],
    [['operations', '--state', 'done'], '--state must be running,'],
    [['approvals', '--status', 'open'], '--status must be pending, waiting_for_window, approved or rejected, not open'],
    [['token', 'create', '--user', 'ana', '--role', 'Admin', '--name', 'x'], '--role must be Auditor,'],
    [['token', 'steal'], 'token needs create, list or revoke'],
    [['token', 'create', '--user', 'ana'], 'token create needs --role'],
    [['tables', '--server', 'ftp://x'], '--server must be an http or https address'],
    [['tables', '--server', 'http://ana:secret@127.0.0.1:9'], '--server must have no user and no password'],
    [['completion', 'cmd'], 'completion needs one of: bash, zsh, fish'],
    [['constructor'], 'unknown command constructor'],
  ])('does not understand %j', async (args, problem) => {
    const ran = await run(args)
    expect(ran).toMatchObject({ code: 2, out: '' })
    expect(ran.err).toMatch(/^lockhouse: .+; see lockhouse help.*\n$/)
    expect(ran.err).toContain(problem)
  })

  it('says how to reach a service and how to sign in', async () => {
    const nobody = await run(['tables', '--server', `http://127.0.0.1:${await freePort()}`])
    expect(nobody).toMatchObject({ code: 1, out: '' })
    expect(nobody.err).toContain('start it with "lockhouse serve"')
    const anonymous = await run(['tables'], { LOCKHOUSE_TOKEN: '' })
    expect(anonymous).toMatchObject({
      code: 1,
      err: 'lockhouse: UNAUTHENTICATED: set LOCKHOUSE_TOKEN, use --token-file, or sign in with "lockhouse login"\n',
    })
    const file = join(folder, 'token')
    await writeFile(file, `${ADMIN_TOKEN}\n`)
    expect((await run(['tables', '--token-file', file], { LOCKHOUSE_TOKEN: '' })).code).toBe(0)
  })

  it('reaches a service below a base path', async () => {
    const paths: string[] = []
    const server = createServer((request, response) => {
      paths.push(request.url ?? '')
      response.end('{"status":"ok"}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const env = { PORT: String(port), BASE_PATH: '/lake', LOCKHOUSE_SERVER: '' }
    for (const address of [`http://127.0.0.1:${port}/lake`, `http://127.0.0.1:${port}/lake/`]) {
      expect((await run(['status', '--live', '--server', address])).code).toBe(0)
    }
    expect((await run(['status', '--live'], env)).code).toBe(0) // as the image checks itself
    server.close()
    expect(paths).toEqual(Array.from({ length: 3 }, () => '/lake/api/health/live'))
  })

  it('says a refused field once, as a sentence', async () => {
    const { code, err } = await run(['expire', 'demo.events', '--retain-last', '0', '--yes'])
    expect([code, err]).toEqual([1, 'lockhouse: INVALID_REQUEST: retain_last must be 1 or more\n'])
  })

  it('prints errors as JSON with --json', async () => {
    const refused = await run(['health', 'demo.nothing', '--json'])
    expect(refused).toMatchObject({ code: 1, out: '' })
    const error = { success: false, code: 'NO_SUCH_TABLE', message: expect.stringContaining('demo.nothing') }
    expect(JSON.parse(refused.err)).toEqual(error)
    const misused = await run(['tables', '--band', 'ok', '--json'])
    expect(misused).toMatchObject({ code: 2, out: '' })
    expect(JSON.parse(misused.err)).toMatchObject({ success: false, code: 'USAGE' })
  })

  it.skipIf(!existsSync('/dev/full'))('ends with one line when standard output cannot be written', async () => {
    const command = `${LOCKHOUSE.join(' ')} tables --json > /dev/full`
    const env = { ...cleanEnvironment, LOCKHOUSE_SERVER: `http://${served.host}`, LOCKHOUSE_TOKEN: ADMIN_TOKEN }
    const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe'], env })
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    expect([code, err]).toEqual([1, 'lockhouse: standard output cannot be written: ENOSPC\n'])
  })

  it.each([
    ['compact demo.events --rewrite-all', /^would rewrite data files +1\n.*^would read rows +\d+$/ms],
    ['expire demo.events --retain-last 1', /^would expire snapshots +\d+\n/m],
    ['convert-deletes demo.events', /^would convert delete files +0\n/m],
    ['rewrite-position-deletes demo.events --rewrite-all', /^would rewrite delete files +\d+\n/m],
    ['rewrite-manifests demo.events', /^would rewrite manifests +\d+\n/m],
    ['remove-orphans demo.events', /^would delete files +0\n/m],
  ])('a dry run of `%s` names only what it would do', async (command, plan) => {
    const { out } = await run([...command.split(' '), '--dry-run'])
    expect(out).toMatch(plan)
    expect(out).not.toMatch(/^(rewritten|added|removed|deleted|expired|kept|freed|failed|verif|rows|commits|snapshot)/m)
  })

  it.each([
    ['expire demo.events --retain-last 0 --yes', 'INVALID_REQUEST', 'retain_last must be 1 or more'],
    ['health demo.nothing', 'NO_SUCH_TABLE', 'Table demo.nothing does not exist.'],
    ['token revoke tok-none --yes', 'NOT_FOUND', 'no active token tok-none'],
    ['fly', 'USAGE', 'unknown command fly'],
  ])('`%s` names code and reason once when it fails', async (command, code, message) => {
    const { err } = await run(command.split(' '))
    if (code === 'USAGE') expect(err).toBe(`lockhouse: ${message}; see lockhouse help\n`)
    else expect(err).toBe(`lockhouse: ${code}: ${message}\n`)
    expect(JSON.parse((await run([...command.split(' '), '--json'])).err)).toEqual({ success: false, code, message })
  })

  it('explains itself and every command', LONG, async () => {
    const { out } = await run(['help'])
    for (const [name, { summary, options }] of Object.entries(COMMANDS)) {
      const [first = '', second] = name.split(' ')
      if (second === undefined) expect(out).toContain(summary)
      else expect(helpText(first)).toMatch(new RegExp(`^  ${name}.*  ${escaped(summary)}$`, 'm'))
      const help = helpText(name)
      for (const option of Object.keys(options)) expect(help).toContain(`--${option}`)
    }
    expect((await run(['help', 'policies', 'create'])).out).toBe(helpText('policies create'))
    expect((await run(['policies', 'create', '--help'])).out).toBe(helpText('policies create'))
    expect((await run(['token', '--help'])).out).toBe(helpText('token'))
  })

  it('its guide shows every command, with arguments and options that exist', async () => {
    const guide = await readFile(join(REPOSITORY, 'docs/cli.md'), 'utf8')
    const lines = [...guide.matchAll(/^(?:\$ )?lockhouse (.*?)(?: *#.*)?$/gm)].map(([, rest = '']) => rest)
    const words = lines.map((line) =>
      [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? ''),
    )
    const named = words.map(([first = '', second = '']) =>
      [`${first} ${second}`, first].find((name) => Object.hasOwn(COMMANDS, name)),
    )
    expect(Object.keys(COMMANDS).filter((name) => !named.includes(name))).toEqual([])
    for (const [at, name] of named.entries()) {
      const command = name === undefined ? undefined : COMMANDS[name]
      if (command === undefined) continue
      const options = (words[at] ?? []).filter((word) => word.startsWith('--')).map((word) => word.slice(2))
      expect(Object.keys(optionsOf(command)), lines[at]).toEqual(expect.arrayContaining(options))
    }
  })

  it('completes commands and options in bash', async () => {
    const { out } = await run(['completion', 'bash'])
    const complete = (...words: string[]) =>
      spawnSync(
        'bash',
        [
          '-c',
          `${out}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _lockhouse; echo "\${COMPREPLY[@]}"`,
        ],
        {
          encoding: 'utf8',
        },
      ).stdout.trim()
    expect(complete('lockhouse', 'comp')).toBe('completion compact')
    expect(complete('lockhouse', 'expire', '--re')).toBe('--retain-last')
    expect(complete('lockhouse', 'compact', 'a.b', '--engine', '')).toBe('auto embedded spark')
    expect(complete('lockhouse', 'tables', '--band', 'p')).toBe('poor')
    expect(complete('lockhouse', 'pol')).toBe('policies')
    expect(complete('lockhouse', 'policies', 'de')).toBe('decisions delete')
    expect(complete('lockhouse', 'policies', 'delete', 'nightly', '--y')).toBe('--yes')
    expect(complete('lockhouse', 'policies', 'create', 'a.json', '--mode', '')).toBe('shadow active')
    expect(complete('lockhouse', 'pipelines', 'stop', 'demo.copy', '--mode', '')).toBe('graceful immediate')
  })
})

it('progress names files, bytes and the time left', () => {
  const progress = { files_done: 120, files_total: 240, bytes_done: 2 ** 20, bytes_total: 4 * 2 ** 20 }
  expect(progressText(progress, 1000)).toBe(
    '[######------------------] 120 of 240 files, 1.0 MiB of 4.0 MiB, about 3 s left',
  )
})

it('tables are aligned and cut, and cannot control the terminal', () => {
  const rows = [
    ['a\u001b[2J', 1],
    ['longer', 200],
  ] as const
  expect(textTable(['NAME', 'N'], rows)).toBe('NAME          N\na\\u001b[2J    1\nlonger      200')
  expect(textTable(['NAME', 'N'], rows, 8)).toBe('NAME   …\na\\u001b…\nlonger …')
})

it('names, headers and long texts cannot control the terminal', () => {
  expect(textList([['a\u001b[2J\r\nb', 'x']])).toBe(String.raw`a\u001b[2J\r\nb  x`)
  expect(textTable(['a\r\nb\u001b'], [['x']])).toBe(`${String.raw`a\r\nb\u001b`}\nx`)
  expect(plainLines('a\u001b\tb\r\nc\rd\n')).toBe('a\\u001b\tb\r\nc\\rd\n')
})

it('a table of 200,000 rows is aligned', () => {
  const rows = Array.from({ length: 200_000 }, (_, at) => [at])
  expect(textTable(['N'], rows).split('\n').at(-1)).toBe('199999')
  expect(
    textList(rows.map(([at = 0]) => [String(at), at] as const))
      .split('\n')
      .at(-1),
  ).toBe('199999  199999')
})
