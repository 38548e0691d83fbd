import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { until } from '../support/waiting.ts'
import { LONG } from '../support/effort.ts'
import { cleanEnvironment } from '../support/clean-environment.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const RUNTIME = 'Bun' in globalThis ? [] : ['--disable-warning=ExperimentalWarning']
const MAIN = join(REPOSITORY, 'src/cli/main.ts')

describe('backup, restore and doctor', { timeout: 300_000 }, () => {
  let folder: string
  let service: ServiceProcess
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-upkeep-'))
    service = await startServiceProcess({ LOCKHOUSE_DEMO: '1' })
    await until(async () => (await body(service, 'GET', '/api/health')).demo === null, undefined, 100_000)
  }, 300_000)
  afterAll(async () => {
    await service.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const child = spawn(process.execPath, [...RUNTIME, MAIN, ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...cleanEnvironment, ...env },
    })
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code, out, err }
  }
  const backUp = async (name: string) => {
    const target = join(folder, name)
    const { code, err } = await run(['backup', target, '--home', service.home])
    expect(code, err).toBe(0)
    return target
  }
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
  const body = async (on: ServiceProcess, method: string, path: string, sent?: object): Promise<any> => {
    const response = await on.request(method, path, sent === undefined ? {} : { body: sent })
    expect(response.status, `${method} ${path}`).toBeLessThan(300)
    return response.json()
  }

  it('a backup of a service that works has all that was acknowledged before it, and starts elsewhere', async () => {
    const acknowledged: string[] = []
    let goesOn = true
    const write = async () => {
      for (let at = 0; goesOn; at += 1) {
        const name = `definition ${at}`
        await body(service, 'POST', '/api/pipeline-defs', { name, nodes: [], edges: [] })
        acknowledged.push(name)
        await body(service, 'POST', '/api/evolve/add-column', { table: 'demo.events', name: `c${at}`, type: 'long' })
      }
    }
    const writing = write()
    await until(() => acknowledged.length > 5)
    let known: readonly string[] = []
    let last = ''
    for (const name of ['first', 'second', 'third']) {
      known = [...acknowledged]
      last = await backUp(name)
    }
    goesOn = false
    await writing
    const files = (await readdir(last)).sort()
    // the service writes its first checkpoint of the audit log after a minute
    expect(files.filter((name) => name !== 'audit-checkpoint.json')).toEqual([
      'audit.key',
      'backup.json',
      'catalog.db',
      'state.db',
    ])
    expect((await stat(last)).mode & 0o777).toBe(0o700)
    for (const name of files) expect((await stat(join(last, name))).mode & 0o777, name).toBe(0o600)

    const home = join(folder, 'restored')
    const restored = await run(['restore', last, '--home', home, '--json'])
    expect(restored.code, restored.err).toBe(0)
    expect(JSON.parse(restored.out)).toMatchObject({ tables: 3, missing: [] })
    const tables = async (on: ServiceProcess) => {
      const { tables: all } = await body(on, 'GET', '/api/tables')
      const names: string[] = all.map(({ table }: { table: string }) => table)
      return Promise.all(names.map(async (table) => (await body(on, 'GET', `/api/table/${table}/health`)).record_count))
    }
    const rows = await tables(service)
    const other = await startServiceProcess({ LOCKHOUSE_HOME: home })
    const { length } = await body(other, 'GET', '/api/pipeline-defs?page_size=1000')
    expect(length).toBeGreaterThanOrEqual(known.length)
    expect(await tables(other)).toEqual(rows)
    // it has the restored catalog, not that of the first service
    expect(await body(other, 'GET', '/api/config')).toMatchObject({ uri: `sqlite:///${home}/catalog.db` })
    const place = async (on: ServiceProcess) => (await body(on, 'GET', '/api/table/demo.orders')).metadata_location
    const before = await place(service)
    await body(other, 'POST', '/api/evolve/add-column', { table: 'demo.orders', name: 'only_here', type: 'long' })
    expect(await place(other)).not.toBe(before)
    expect(await place(service)).toBe(before)
    expect(await body(other, 'GET', '/api/audit/verify')).toMatchObject({ ok: true })
    await other.close()
  })

  it(
    'a backup that is damaged, cut short, incomplete or of something else is refused, and nothing is written',
    LONG,
    async () => {
      const good = await backUp('good')
      const damage: Readonly<Record<string, (copy: string) => Promise<void>>> = {
        changed: (copy) => appendFile(join(copy, 'catalog.db'), 'x'),
        short: async (copy) => truncate(join(copy, 'state.db'), (await stat(join(copy, 'state.db'))).size - 4096),
        gone: (copy) => rm(join(copy, 'audit.key')),
        unlisted: (copy) => rm(join(copy, 'backup.json')),
        listless: (copy) => writeFile(join(copy, 'backup.json'), '{"format": 1'),
        outside: async (copy) => {
          const list = await readFile(join(copy, 'backup.json'), 'utf8')
          await writeFile(join(copy, 'backup.json'), list.replace('audit.key', '../../audit.key'))
        },
      }
      for (const [name, work] of Object.entries(damage)) {
        const copy = join(folder, `bad-${name}`)
        await cp(good, copy, { recursive: true })
        await work(copy)
        const home = join(folder, `home-${name}`)
        const { code, out, err } = await run(['restore', copy, '--home', home])
        expect([code, out], name).toEqual([1, ''])
        expect(err, name).toMatch(/^lockhouse: .*(damaged|incomplete|not a backup).*\n$/)
        expect(existsSync(home), name).toBe(false)
      }
      expect((await readdir(folder)).filter((name) => name.includes('unfinished'))).toEqual([])
    },
  )

  it('a backup or restore removes what a killed one of the same name left, and nothing else', LONG, async () => {
    const ended = spawnSync('true').pid
    const target = join(folder, 'continued')
    const home = join(folder, 'continued-home')
    const left = [`${target}.unfinished-${ended}`, `${home}.unfinished-${ended}`]
    const others = [`${target}.unfinished-${process.pid}`, `${home}.unfinished-notes`, `${home}-2.unfinished-${ended}`]
    for (const path of [...left, ...others]) {
      await mkdir(path)
      await writeFile(join(path, 'state.db'), 'part of it')
    }
    await backUp('continued')
    const { code, err } = await run(['restore', target, '--home', home])
    expect(code, err).toBe(0)
    expect(left.filter((path) => existsSync(path))).toEqual([])
    expect(others.filter((path) => existsSync(path))).toEqual(others)
    for (const path of others) await rm(path, { recursive: true })
  })

  it('nothing that exists is overwritten, and only the folder of a service is backed up', LONG, async () => {
    const good = await backUp('repeated')
    const full = join(folder, 'full')
    await mkdir(full)
    await writeFile(join(full, 'mine.txt'), 'mine')
    expect((await run(['restore', good, '--home', full])).err).toMatch(/is not empty/)
    expect((await run(['backup', full, '--home', service.home])).err).toMatch(/exists already/)
    expect((await run(['backup', join(folder, 'x'), '--home', full])).err).toMatch(/is not the folder of a service/)
    expect(await readdir(full)).toEqual(['mine.txt'])
    const empty = join(folder, 'empty')
    await mkdir(empty)
    expect((await run(['restore', good], { LOCKHOUSE_HOME: empty })).code).toBe(0)
    expect(await readdir(empty)).toContain('state.db')
    expect((await run(['backup'])).code).toBe(2)
  })

  it('doctor finds nothing wrong where a service runs, and where none ran yet', async () => {
    const { port } = new URL(service.url)
    const findings = async (home: string, env: Readonly<Record<string, string>>) => {
      const { code, out, err } = await run(['doctor', '--home', home, '--json'], env)
      expect(code, out + err).toBe(0)
      return JSON.parse(out) as { check: string; status: string; detail: string }[]
    }
    const here = await findings(service.home, { PORT: port })
    const checks = here.map(({ check }) => check).join(' ')
    expect(checks).toBe('settings folder disk keys state catalog engine clock port')
    expect(here.filter(({ status }) => status === 'failed')).toEqual([])
    expect(here.find(({ check }) => check === 'catalog')?.detail).toMatch(/: 3 tables$/)
    expect(here.find(({ check }) => check === 'port')?.detail).toMatch(/^a service answers/)
    expect((await findings(join(folder, 'none'), { PORT: '0' })).map(({ status }) => status)).not.toContain('failed')
    expect(existsSync(join(folder, 'none'))).toBe(false)
    expect((await body(service, 'GET', '/api/health')).status).toBe('ok')
  })

  it('doctor says what is wrong and what to do, and ends with 1', LONG, async () => {
    const home = join(folder, 'sick')
    await run(['restore', await backUp('sick-backup'), '--home', home])
    await chmod(join(home, 'audit.key'), 0o644)
    await writeFile(join(home, 'state.db'), 'not a database '.repeat(1000))
    const server: Server = createServer((_, answer) => answer.end('another program'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const PORT = String((server.address() as AddressInfo).port)
    const { code, out, err } = await run(['doctor'], { LOCKHOUSE_HOME: home, PORT })
    server.close()
    expect(code).toBe(1)
    expect(err).toBe('lockhouse: 2 of 8 checks failed\n')
    expect(out).toMatch(/^keys +warning +other users can read audit\.key +chmod 600 audit\.key$/m)
    expect(out).toMatch(/^state +failed +.*it is not a SQLite database/m)
    expect(out).toMatch(/^port +failed +another program listens on/m)
    const wrong = await run(['doctor'], { PORT: 'x' })
    expect([wrong.code, wrong.out]).toMatchObject([1, expect.stringContaining('PORT must be a whole number')])
  })
})
