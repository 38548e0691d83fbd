import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG } from '../support/effort.ts'
import { Relay } from '../support/network/relay.ts'
import { type ServedService, startServedService } from '../support/served.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/waiting.ts'
import { type Ran, runLockhouse, startLockhouse } from './lockhouse-process.ts'

const HOSTILE = 'quiet\u202e\u{e0041}'
const SHOWN = String.raw`quiet\u202e\u{e0041}`

describe('commands of the API', { timeout: 180_000 }, () => {
  let service: TestService
  let served: ServedService
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-api-commands-'))
    served = await startServedService({
      events: { commits: 2, filesPerCommit: 3, rowsPerFile: 50 },
      overrides: { automation: {} },
    })
    service = served.service
    await until(async () => (await service.get('/api/health-index')).body.tables.length > 0)
  })
  afterAll(async () => {
    await served.stop(false)
    await rm(folder, { recursive: true, force: true })
  })

  const run = (line: string, env: Readonly<Record<string, string>> = {}, stdin?: string): Promise<Ran> =>
    runLockhouse(words(line), { cwd: folder, host: served.host, env, ...(stdin === undefined ? {} : { stdin }) })
  const done = async (line: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { code, out, err } = await run(line, env)
    expect(code, `${line}: ${err}`).toBe(0)
    return out
  }
  const json = async (line: string) => JSON.parse(await done(`${line} --json`))
  const file = async (name: string, content: unknown): Promise<string> => {
    await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
    return name
  }
  const graph = (name: string, sink = 'demo.copy') => ({
    name,
    nodes: [
      { id: 'in', type: 'iceberg-source', config: { table: 'demo.events' }, position: { x: 3, y: 4 } },
      { id: 'out', type: 'iceberg-sink', config: { table: sink } },
    ],
    edges: [{ id: 'e', source: 'in', target: 'out' }],
  })

  it.each(['show', 'schema', 'snapshots', 'history', 'refs', 'files', 'partitions', 'trends', 'policy', 'reports'])(
    '`tables %s` shows a table to people and programs',
    async (word) => {
      const { code, out, err } = await run(`tables ${word} demo.events`)
      expect([code, out + err]).toEqual([0, expect.stringMatching(/\S/)])
      expect(typeof (await json(`tables ${word} demo.events`))).toBe('object')
    },
  )

  it('a list ends at its limit, and says that there is more', async () => {
    const { out, err } = await run('tables files demo.events --limit 2')
    expect(out.trim().split('\n')).toHaveLength(3)
    expect(err).toBe('there are more than these 2: use a higher --limit\n')
    const all = await json('tables files demo.events')
    expect(all.files).toHaveLength(7)
    expect((await json('tables files demo.events --limit 2')).files).toEqual(all.files.slice(0, 2))
  })

  it('`tables` has the whole index, and its limit counts tables', async () => {
    expect(await json('tables')).toEqual(expect.objectContaining({ tables: expect.any(Array), next_page_token: null }))
    expect((await json('tables --limit 1')).tables.length).toBeLessThan(2)
  })

  it('an exported definition that is imported has the same graph and content hash', async () => {
    await done(`definitions create ${await file('graph.json', graph('orders'))}`)
    await file('exported.json', await done('definitions export orders'))
    const imported = await json('definitions import exported.json --name again')
    const original = await json('definitions version orders 1')
    expect(imported.version).toMatchObject({ content_hash: original.content_hash, nodes: original.nodes })
    const [first, second] = [await json('definitions export orders v1'), await json('definitions export again')]
    expect({ ...second, name: '', exported_at: '' }).toEqual({ ...first, name: '', exported_at: '' })
  })

  it('versions are compared, and a graph that cannot run ends with 1', async () => {
    await done(`definitions create ${await file('graph.json', graph('compared', 'demo.missing'))}`)
    const { code, out, err } = await run('definitions validate compared')
    expect([code, err]).toEqual([1, 'lockhouse: the graph cannot run\n'])
    expect(out).toMatch(/^error +out +NO_SUCH_TABLE /m)
    const next = graph('', 'demo.other')
    await done(`definitions new-version compared ${await file('next.json', { nodes: next.nodes, edges: next.edges })}`)
    await file('exported.json', await done('definitions export compared'))
    await done('definitions new-version compared exported.json')
    expect(await done('definitions diff compared 1 v2')).toMatch(/^out +.*demo\.other/m)
    expect(await done('definitions versions compared')).toMatch(/^ +3 +ver-/m)
    expect((await run('definitions version compared 9')).err).toBe(
      'lockhouse: NOT_FOUND: the definition has no version 9; the newest is 3\n',
    )
    expect((await run('definitions validate-file graph.json', {})).code).toBe(1)
  })

  it('a definition goes to production by approvals of others, runs, and is stopped', async () => {
    await done(`definitions create ${await file('graph.json', graph('shipped', 'demo.shipped'))}`)
    await done('definitions create-sink shipped')
    await done('definitions validate shipped 1 --environment production')
    const lea = (await done('token create --user lea --role LeadDataEngineer --name test')).trim()
    await done('definitions promote shipped 1')
    for (const environment of ['uat', 'production']) {
      const { err } = await run('definitions promote shipped 1')
      const id = /lockhouse approvals approve (pr-\S+)\n$/.exec(err)?.[1] ?? ''
      await done(`approvals comment ${id} "please look"`)
      expect(await done(`approvals comments ${id}`)).toContain('please look')
      expect(await done(`approvals show ${id}`)).toMatch(new RegExp(`^to environment +${environment}$`, 'm'))
      await done(`approvals approve ${id} --comment fine`, { LOCKHOUSE_TOKEN: lea })
    }
    expect(await done('definitions board')).toMatch(/^shipped .* 1 +-$/m)
    const plan = await json('definitions deploy shipped production --dry-run')
    expect(plan.plan.problems).toEqual([])
    const { err } = await run(`definitions deploy shipped production --plan ${plan.plan_id} --wait`)
    expect(err).toBe('deploy has succeeded\n')
    expect(await done('deployments')).toMatch(/^shipped +production +in_sync/m)
    const running = await json('pipelines show demo.shipped')
    expect(await json('pipelines show shipped')).toMatchObject({ pipeline: { id: running.pipeline.id } })
    await done('definitions undeploy shipped production --yes --wait')
    expect(await done('deployments history shipped')).toMatch(/undeploy +succeeded/)
    expect((await run('pipelines delete shipped')).code).toBe(2)
    expect(await json('pipelines --state stopped')).toMatchObject({ pipelines: [{ id: running.pipeline.id }] })
    await done('pipelines delete demo.shipped --yes')
    expect((await run('pipelines show shipped')).err).toMatch(/^lockhouse: NOT_FOUND: there is no pipeline shipped: /)
  })

  it('`--wait` reports the rollout of the command when another one follows', async () => {
    const graphOf = graph('demo.same', 'demo.same_sink')
    const { definition } = await json(`definitions create ${await file('graph.json', graphOf)}`)
    await done('definitions create-sink demo.same')
    await done('definitions promote demo.same 1')
    await done('environments set qa --writes "demo.*"')
    const outcomes = async () =>
      (await json('deployments history demo.same')).map(
        ({ action, outcome }: { action: string; outcome: string }) => `${action} ${outcome}`,
      )
    const gate = await startGate(served.host, async ({ url = '' }) => {
      if (!/\/deployments\?/.test(url) || (await outcomes()).length > 1) return
      await until(async () => (await outcomes())[0] === 'deploy succeeded')
      await service.post(`/api/pipeline-defs/${definition.id}/undeploy`, { environment: 'qa' })
      await until(async () => (await outcomes())[0] === 'undeploy succeeded')
    })
    const deployed = await runLockhouse(words('definitions deploy demo.same qa --wait'), {
      cwd: folder,
      host: gate.host,
    })
    gate.close()
    expect(await outcomes()).toEqual(['undeploy succeeded', 'deploy succeeded'])
    expect([deployed.code, deployed.err]).toEqual([0, 'deploy has succeeded\n'])
    expect((await run('definitions undeploy demo.same qa --dry-run')).err).not.toContain('--yes')
  })

  it('a name that is a sink table of one pipeline and the definition of another is refused', async () => {
    const options =
      '--source-table demo.events --sink-table demo.same --create-sink-table --trigger-interval "1 second"'
    await done(`pipelines start ${options} --checkpoint-location checkpoints/same`)
    const { code, err } = await run('pipelines stop demo.same')
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^lockhouse: demo\.same stands for 2 pipelines, write one of their ids: pipe-\S+ /),
    ])
    const all = (await json('pipelines')).pipelines
    const own = all.find(({ sink_table: sink }: { sink_table: string }) => sink === 'demo.same')
    await done(`pipelines stop ${own.id}`)
    await done(`pipelines delete ${own.id} --yes`)
    expect(await json('pipelines show demo.same')).toMatchObject({ pipeline: { sink_table: 'demo.same_sink' } })
    await done('pipelines delete demo.same_sink --yes')
  })

  it('a pipeline starts from a point of its source that is a word or JSON', async () => {
    const options =
      '--source-table demo.events --sink-table demo.later --create-sink-table --trigger-interval "1 second"'
    const start = `pipelines start ${options} --checkpoint-location checkpoints/later`
    const from = ['--from', '{"snapshot_id": "1"}']
    const { code, err } = await runLockhouse([...words(start), ...from], { cwd: folder, host: served.host })
    expect([code, err]).toEqual([1, expect.stringContaining('from.snapshot_id: demo.events has no snapshot 1')])
    expect((await run(`${start} --from {`)).err).toContain('--from is not JSON')
    await done(`${start} --from now`)
    expect(await done('pipelines show demo.later')).toMatch(/^from +now$/m)
    await done('pipelines stop demo.later')
    await done('pipelines delete demo.later --yes')
  })

  it('a pipeline starts from options and from a file, is watched, and stops', async () => {
    const options =
      '--source-table demo.events --sink-table demo.watched --create-sink-table --trigger-interval "1 second"'
    await done(`pipelines start ${options} --checkpoint-location checkpoints/watched`)
    const watching = startLockhouse(['pipelines', 'watch', 'demo.watched'], { cwd: folder, host: served.host })
    let seen = ''
    watching.stdout.on('data', (piece: Buffer) => (seen += piece.toString()))
    await until(() => /running: demo\.events to demo\.watched/.test(seen))
    await until(async () => (await service.get('/api/table/demo.watched/health')).body.record_count > 0)
    await done('pipelines stop demo.watched')
    await until(() => /stopped: demo\.events to demo\.watched/.test(seen))
    watching.kill()
    await once(watching, 'close')
    expect(await done('pipelines history demo.watched')).toMatch(/^\S+Z +stopped/m)
    const again = {
      source_table: 'demo.events',
      sink_table: 'demo.watched',
      checkpoint_location: 'checkpoints/watched',
    }
    await file('start.json', { ...again, trigger_interval: '1 hour' })
    expect(await done('pipelines start start.json --trigger-interval "2 seconds"')).toMatch(
      /^trigger interval +2 seconds$/m,
    )
    await done('pipelines stop demo.watched --mode immediate')
    await done('pipelines delete demo.watched --yes')
  })

  it('a policy is previewed, created, shown, changed from what was shown, enabled, disabled and deleted', async () => {
    const policy = {
      name: 'nightly',
      tables: ['other.*'],
      operations: [{ operation: 'compact' }],
      when: { snapshots_over: 5 },
    }
    await file('policy.json', policy)
    expect(await done('policies preview policy.json')).toMatch(/^matched +0$/m)
    await done('policies create policy.json --priority 7')
    expect(await done('policies')).toMatch(/^nightly +shadow +7 +other\.\* +compact/m)
    const shown = await json('policies show nightly')
    await file('shown.json', { ...shown, cooldown: '3 hours' })
    await done('policies update nightly shown.json')
    await done('policies enable nightly')
    expect(await json('policies show nightly')).toMatchObject({ mode: 'active', cooldown: '3 hours', priority: 7 })
    expect(await done('policies disable nightly')).toMatch(/^mode +shadow$/m)
    expect((await run('policies decisions nightly')).err).toBe('no decisions yet\n')
    await done('policies resume nightly')
    await file('wrong.json', { ...policy, modus: 'active' })
    expect((await run('policies update nightly wrong.json')).err).toMatch(/INVALID_REQUEST: modus is not a known field/)
    expect((await run('policies delete nightly --yes')).err).toBe('the policy nightly is deleted\n')
    expect((await run('policies show nightly')).err).toBe('lockhouse: NOT_FOUND: there is no policy nightly\n')
  })

  it('an alert is created, shown, silenced, tested and deleted, whatever its channel has', async () => {
    const channel = { type: 'slack', url: 'http://127.0.0.1:9/' }
    await file('alert.json', {
      name: 'failures',
      events: ['*.failed'],
      channel: { ...channel, url: 'https://hooks.example/x' },
    })
    await done('alerts create alert.json')
    expect(await done('alerts')).toMatch(/^failures +\*\.failed .* slack +hooks\.example/m)
    await file('shown.json', { ...(await json('alerts show failures')), cooldown: '1 hour' })
    expect(await done('alerts update failures shown.json')).toMatch(/^cooldown +1 hour$/m)
    expect(await done('alerts silence failures 2999-01-01T00:00:00Z')).toMatch(/^silenced until +2999-/m)
    expect(await done('alerts silence failures')).toMatch(/^silenced until +-$/m)
    const tested = await run('alerts test failures')
    expect([tested.code, tested.err]).toEqual([1, expect.stringMatching(/^lockhouse: the test was not delivered: /)])
    expect(await done('alerts deliveries failures')).toMatch(/ test .* failed /)
    await done('alerts delete failures --yes')
  })

  it('environments are shown and changed by options and by a file', async () => {
    expect(await done('environments')).toMatch(/^production +manual /m)
    await done('environments set qa --writes "qa.*,demo.*"')
    await file('qa.json', { ...(await json('environments show qa')), parameters: { limit: 5 } })
    await done('environments set qa qa.json')
    expect(await json('environments show qa')).toMatchObject({ writes: ['qa.*', 'demo.*'], parameters: { limit: 5 } })
  })

  // before a snapshot of the table expires
  it('changed rows of a table are shown with their numbers by kind', async () => {
    const { code, out, err } = await run('tables changes demo.events --limit 2 --counts true')
    expect([code, out.trim().split('\n').length], err).toEqual([0, 3])
    expect(out).toMatch(/_change_type/)
    expect(err).toMatch(/2 rows; there are more; opened .+\n1 snapshot: insert 0, delete 5, update_before 0/)
    expect((await run('tables changes demo.events --from-snapshot-id 7')).err).toMatch(/^lockhouse: NO_SUCH_SNAPSHOT: /)
  })

  it('files in quarantine are listed, restored by a plan, and purged', async () => {
    await done('compact demo.events --rewrite-all')
    await done('expire demo.events --retain-last 1 --older-than 2999-01-01T00:00:00Z --yes')
    const [entry] = (await json('quarantine --table demo.events')).entries
    expect(await done(`quarantine show ${entry.id}`)).toMatch(/^state +held$/m)
    const plan = await json(`quarantine restore ${entry.id} --dry-run`)
    expect(await done(`quarantine restore ${entry.id} --plan ${plan.plan_id}`)).toMatch(/^restored snapshots +\d+$/m)
    await done('expire demo.events --retain-last 1 --older-than 2999-01-01T00:00:00Z --yes')
    const [held] = (await json('quarantine --state held')).entries
    expect((await run(`quarantine purge ${held.id}`)).err).toContain('add --yes')
    expect(await done(`quarantine purge ${held.id} --yes`)).toMatch(/^deleted files +[1-9]/m)
    const [operation] = (await json('operations')).operations
    expect(await done(`operations show ${operation.id}`)).toMatch(/^state +succeeded$/m)
    expect(await done(`operations follow ${operation.id}`)).toMatch(/^state +succeeded$/m)
    expect((await run(`operations cancel ${operation.id}`)).code).toBe(1)
  })

  it('the audit log is listed, exported to its last line, and verified', async () => {
    expect(await done('audit --limit 1000')).toMatch(/ admin +LeadDataEngineer +api /)
    const lines = (await done('audit export')).trim().split('\n')
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ end: true, entries: lines.length - 1 })
    const { last_seq: last } = JSON.parse(lines.at(-1) ?? '')
    expect((await done(`audit export --after-seq ${last}`)).trim().split('\n')).toHaveLength(1)
    expect(await done('audit verify')).toMatch(/^ok +yes$/m)
  })

  it('`events --follow` prints each new event, and says where to continue when the service ends', async () => {
    const relay = await Relay.start(address(served.host))
    const child = startLockhouse(['events', '--follow', '--json', '--type', 'policy.*', '--since', '0'], {
      cwd: folder,
      host: `127.0.0.1:${relay.port}`,
    })
    let seen = ''
    let err = ''
    child.stdout.on('data', (piece: Buffer) => (seen += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (err += piece.toString()))
    const policy = {
      name: 'followed',
      tables: ['x.*'],
      operations: [{ operation: 'compact' }],
      when: { snapshots_over: 5 },
    }
    await service.post('/api/policies', policy)
    await until(() => seen.includes('"policy":"followed"'))
    relay.cut()
    const [code] = await once(child, 'close')
    await relay.close()
    const { seq } = JSON.parse(seen.trim().split('\n').at(-1) ?? '')
    expect([code, err]).toEqual([1, expect.stringContaining(`; continue with --since ${seq}`)])
  })

  it('an export that is cut short ends with 1, and prints no end', async () => {
    const short = await startShortRelay(address(served.host), 900)
    const cut = await runLockhouse(['audit', 'export'], { cwd: folder, host: `127.0.0.1:${short.port}` })
    short.close()
    expect(cut.code).toBe(1)
    expect(cut.err).toMatch(/^lockhouse: (the connection was cut|the export is incomplete)[^\n]*\n$/)
    expect(cut.out).not.toContain('"end":true')
  })

  it('an answer that is cut short is one line, and no stack trace', async () => {
    const relay = await Relay.start(address(served.host))
    relay.judge = (_, from) => (from === 'server' ? 'cut' : 'pass')
    const cut = await runLockhouse(['definitions'], { cwd: folder, host: `127.0.0.1:${relay.port}` })
    await relay.close()
    expect([cut.code, cut.out]).toEqual([1, ''])
    expect(cut.err).toMatch(/^lockhouse: [^\n]+\n$/)
  })

  it('`pipelines watch` ends with 1 when the service goes away', async () => {
    const relay = await Relay.start(address(served.host))
    const child = startLockhouse(['pipelines', 'watch'], { cwd: folder, host: `127.0.0.1:${relay.port}` })
    let err = ''
    let out = ''
    child.stdout.on('data', (piece: Buffer) => (out += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (err += piece.toString()))
    await until(() => out !== '')
    relay.cut()
    const [code] = await once(child, 'close')
    await relay.close()
    expect([code, err]).toEqual([1, expect.stringMatching(/^lockhouse: the monitor ended with \d+[^\n]*\n$/)])
    const refused = await run('pipelines watch', { LOCKHOUSE_TOKEN: 'lh_wrong' })
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/^lockhouse: UNAUTHENTICATED: /)])
  })

  it('files that do not exist, are not JSON or are not an object are named', async () => {
    await file('half.json', '{"name": ')
    await file('list.json', '[]')
    expect(await run('policies create none.json')).toEqual({
      code: 1,
      out: '',
      err: 'lockhouse: there is no file none.json\n',
    })
    expect((await run('policies create half.json')).err).toMatch(/^lockhouse: half\.json is not JSON[^\n]*\n$/)
    expect((await run('alerts create list.json')).err).toBe('lockhouse: list.json is not a JSON object\n')
    expect((await run('policies create .')).err).toBe('lockhouse: . cannot be read\n')
    expect((await run('policies create -', {}, '{}')).err).toMatch(/^lockhouse: INVALID_REQUEST: /)
  })

  it('names that nothing has, or that several things have, are refused with their ids', async () => {
    for (const name of ['twin', 'twin']) await service.post('/api/pipeline-defs', graph(name))
    const { code, err } = await run('definitions show twin')
    expect([code, err]).toEqual([1, expect.stringMatching(/^lockhouse: 2 have the name twin, .*: def-\S+, def-\S+\n$/)])
    expect((await run('definitions show none')).err).toBe('lockhouse: NOT_FOUND: there is no definition none\n')
    expect((await run('definitions show def-none')).err).toMatch(/^lockhouse: NOT_FOUND: /)
    expect((await run('alerts show none')).err).toBe('lockhouse: NOT_FOUND: there is no alert none\n')
    expect((await run('operations show ../config')).err).toMatch(/^lockhouse: (NOT_FOUND|INVALID_REQUEST): /)
  })

  it('names with hidden characters are printed as escapes, also in JSON', async () => {
    const { body } = await service.post('/api/pipeline-defs', graph(HOSTILE))
    expect(await done('definitions')).toContain(SHOWN)
    expect(await done('definitions board')).toContain(SHOWN)
    const text = await done(`definitions show ${body.definition.id} --json`)
    expect(text).not.toContain('\u202e')
    expect(JSON.parse(text)).toMatchObject({ name: HOSTILE })
    expect(await done(`definitions export ${body.definition.id}`)).not.toContain('\u202e')
    expect((await run('definitions show "\u001b[2Jx"')).err).toContain(String.raw`there is no definition \u001b[2Jx`)
    expect(JSON.parse((await done('audit export')).split('\n')[0] ?? '')).toHaveProperty('hash')
  })

  it('a reader that has enough ends the command without a message', async () => {
    // `true` reads nothing and is gone long before the command writes
    const shell = '{ "$@"; echo "ended with $?" >&2; } | true'
    expect(await runLockhouse(['audit', 'export'], { cwd: folder, host: served.host, shell })).toEqual({
      code: 0,
      out: '',
      err: 'ended with 1\n',
    })
  })

  it('the agent answers, proposes a change, and its caller confirms or dismisses it', async () => {
    const { out, err } = await run('ask "Compact demo.events with all files"')
    expect(out + err).toMatch(/\S/)
    expect(err).toMatch(/--chat-id chat-\S+\n$/)
    expect(await done('agent providers')).toMatch(/^builtin +yes/m)
    expect(await done('agent chats')).toMatch(/^chat-\S+ +Compact/m)
  })

  it('a conversation of 25 turns is shown to its last turn', async () => {
    const ask = async (prompt: string, chat?: string): Promise<string> =>
      (await service.post('/api/agent/chat', { prompt, provider: 'builtin', ...(chat && { chat_id: chat }) })).body
        .chat_id
    const chat = await ask('how many tables are there? 0')
    for (let turn = 1; turn < 25; turn += 1) await ask(`how many tables are there? ${turn}`, chat)
    const shown = await json(`agent chat ${chat}`)
    expect(shown).toMatchObject({ id: chat, turn_count: 25, next_page_token: null })
    expect(shown.turns.map(({ seq }: { seq: number }) => seq)).toHaveLength(25)
    expect(await done(`agent chat ${chat}`)).toContain('how many tables are there? 24')
  })

  it('rows of a table end at the limit, and names of columns cannot control the terminal', async () => {
    expect((await json('tables rows demo.events --limit 2')).rows).toHaveLength(2)
    const sql = 'SELECT 1 AS "a\u001b[31m\r\nb"'
    const { code, out, err } = await runLockhouse(['query', sql], { cwd: folder, host: served.host })
    expect([code, out], err).toEqual([0, `${String.raw`a\u001b[31m\r\nb`}\n${'1'.padStart(16)}\n`])
  })

  it('statistics are those of the manifests or of a sample, and bounds of files are listed', async () => {
    expect(await done('tables statistics demo.events')).toMatch(/^COLUMN +TYPE +VALUES +NULLS +SIZE +LOWER +UPPER/m)
    const { code, out, err } = await run('tables statistics demo.events --profile true')
    expect([code, out], err).toEqual([0, expect.stringMatching(/^COLUMN +TYPE +NULLS +DISTINCT +MIN +MAX +MOST/m)])
    expect(err).toMatch(/^a sample: [\d,]+ rows of [\d,]+ \(all rows of \d+ data files?\)$/m)
    expect((await json('tables statistics demo.events --profile true')).profile).toMatchObject({ is_complete: true })
    expect(await done('tables file-bounds demo.events --column id --limit 1')).toMatch(/^LOWER +UPPER +ROWS +SIZE/m)
  })

  it('the caller, the catalog and notebooks are shown', async () => {
    expect(await done('whoami')).toMatch(/^role +LeadDataEngineer$/m)
    const config = await json('config')
    await file('lake.json', { ...config, catalog_type: 'nothing' })
    expect((await run('config set lake.json')).code).toBe(2)
    expect((await run('config set lake.json --yes')).err).toMatch(/^lockhouse: INVALID_REQUEST: /)
    expect((await run('notebook start')).err).toMatch(/^lockhouse: NOT_FOUND: notebooks need a Kubernetes cluster/)
  })

  it('the connection of a catalog is tested, stored or not, and a failed check ends with 1', async () => {
    expect(await done('catalogs')).toMatch(/^lockhouse +yes +yes +sql /m)
    expect(await done('catalogs test lockhouse')).toMatch(
      /^write +ok +file:.*lockhouse-probe-.* was created, read and deleted\./m,
    )
    expect((await json('catalogs test lockhouse --commit true')).outcome).toBe('ok')
    expect((await run('catalogs test other')).err).toMatch(/^lockhouse: NOT_FOUND: there is no catalog "other"/)
    await file('missing.json', { ...(await json('config')), uri: 'sqlite:////proc/no/such/folder/catalog.db' })
    const failed = await run('config test missing.json')
    expect([failed.code, failed.err]).toEqual([1, 'lockhouse: a check of the catalog failed\n'])
    expect(failed.out).toMatch(/^reach +failed +uri is in a folder that does not exist/m)
  })

  it('catalogs are added, changed and removed, and their tables have a prefix', async () => {
    const lake = {
      catalog_type: 'sql',
      catalog_name: 'lake',
      warehouse: join(folder, 'lake'),
      uri: `sqlite:///${join(folder, 'lake.db')}`,
    }
    await file('lake.json', { ...lake, create: true })
    expect((await json('catalogs add lake.json')).catalog.name).toBe('lake')
    await file('changed.json', { ...lake, extra_props: { note: 'x' } })
    expect((await json('catalogs set lake changed.json')).catalog.settings.extra_props).toEqual({ note: '***' })
    expect(await done('catalogs')).toMatch(/^lake +no +yes +sql /m)
    expect((await json('catalogs show lake')).catalog.is_default).toBe(false)
    expect(await run('tables --in-catalog lake')).toMatchObject({ code: 0, out: expect.not.stringContaining('demo.') })
    expect(await done('tables --in-catalog lockhouse')).toContain('demo.events')
    expect((await run('tables show lake:s.none')).err).toMatch(
      /^lockhouse: NO_SUCH_TABLE: Table lake:s\.none does not exist/,
    )
    expect((await run('catalogs remove lake')).code).toBe(2)
    expect((await json('catalogs remove lake --yes')).catalog.name).toBe('lake')
    expect((await run('catalogs show lake')).err).toMatch(/^lockhouse: NOT_FOUND: /)
  })

  it('a table that exists in storage is registered', async () => {
    const { body } = await service.get('/api/table/demo.events')
    const refused = await run(`tables register demo.again ${body.metadata_location}`)
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/^lockhouse: TABLE_EXISTS: /)])
    expect((await run('tables register demo.again')).err).toContain('METADATA-LOCATION is missing')
  })

  it('a list of 10,100 entries is read page by page', LONG, async () => {
    const body = { user: 'many', role: 'Auditor', name: 'one of many' }
    for (let made = 0; made < 10_100; made += 100) {
      await Promise.all(Array.from({ length: 100 }, () => service.post('/api/auth/tokens', body)))
    }
    const all = await json('token list')
    expect(all.length).toBeGreaterThanOrEqual(10_100)
    expect(new Set(all.map(({ id }: { id: string }) => id)).size).toBe(all.length)
    expect(await json('token list --limit 1500')).toEqual(all.slice(0, 1500))
    expect(await json('audit --action token.create --limit 10050')).toHaveLength(10_050)
  })
})

function words(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

function address(host: string): { readonly host: string; readonly port: number } {
  const [name = '', port] = host.split(':')
  return { host: name, port: Number(port) }
}

/** A relay that ends each connection after some bytes of the server. */
async function startShortRelay(target: { readonly host: string; readonly port: number }, bytes: number) {
  const server = createServer((client) => {
    const behind = connect(target)
    let left = bytes
    client.on('error', () => undefined).pipe(behind)
    behind.on('error', () => undefined)
    behind.on('data', (piece: Buffer) => {
      client.write(piece.subarray(0, left))
      left -= piece.length
      if (left > 0) return
      client.end()
      behind.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}

/** A server that does some work before it sends each request to the service at `host`. */
async function startGate(host: string, before: (request: IncomingMessage) => Promise<void>) {
  const server = createHttpServer((request, response) => {
    const answered = async (): Promise<void> => {
      const { method = 'GET', url = '', headers } = request
      const sent = await readAll(request)
      await before(request)
      const { authorization = '', 'content-type': type = 'application/json' } = headers
      const body = method === 'GET' ? {} : { body: sent }
      const answer = await fetch(`http://${host}${url}`, {
        method,
        headers: { authorization, 'content-type': type },
        ...body,
      })
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    }
    answered().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  }
}
