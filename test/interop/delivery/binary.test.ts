import { createHash } from 'node:crypto'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../support/waiting.ts'
import { pyicebergAvailable, REPOSITORY } from '../harness/environment.ts'
import { runPython } from '../harness/python.ts'
import type { Rows } from '../harness/rows.ts'
import { Service } from '../harness/service.ts'

const NOBODY = 65_534
const NATIVE = join(REPOSITORY, 'node_modules/@duckdb/node-bindings-linux-x64')
const RELEASE = join(REPOSITORY, 'dist/release')
const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { version: string }
const fileName = `lockhouse-${version}-linux-x64`
const TABLES = ['demo.events', 'demo.trips']
/** Starts the executable as another user in a root that has nothing else, read-only but for its home. */
const IN_ROOT = `set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --bind "$2" "$1$2"
mount -o remount,bind,ro "$1"
exec env -i "PORT=$PORT" "HOST=$HOST" "LOCKHOUSE_HOME=$LOCKHOUSE_HOME" "LOCKHOUSE_ADMIN_TOKEN=$LOCKHOUSE_ADMIN_TOKEN" \\
  "$(command -v chroot)" --userspec=${NOBODY}:${NOBODY} "$1" /lockhouse serve`

/** Why the executable cannot run in a root of its own here; undefined when it can. */
function rootProblem(): string | undefined {
  const probe = spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt && command -v chroot'])
  return probe.status === 0 ? undefined : `mounting is not allowed here: ${String(probe.stderr ?? probe.error)}`
}

const isBuilt = process.platform === 'linux' && process.arch === 'x64'
if (!isBuilt) process.stderr.write('\nSKIPPED: the executable is built on linux-x64 only\n')

describe.skipIf(!isBuilt)('the executable', { timeout: 300_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'lockhouse-binary-'))
  const binary = join(folder, 'root', 'lockhouse')
  const elsewhere = join(folder, 'elsewhere')
  const home = join(folder, 'home')
  let services: Service[] = []
  beforeAll(() => {
    for (const path of [dirname(binary), elsewhere, home]) mkdirSync(path)
    execFileSync('node', ['scripts/release.mjs', 'linux-x64'], { cwd: REPOSITORY, stdio: 'inherit' })
    copyFileSync(join(RELEASE, fileName), binary)
  }, 300_000)
  afterEach(async () => {
    for (const service of services) await service.kill()
    services = []
    rmSync(join(home, 'data'), { recursive: true, force: true })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  async function start(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Service> {
    const service = await Service.start({ home: join(home, 'data'), command, cwd: elsewhere, env })
    services.push(service)
    return service
  }
  const alone = (env: Readonly<Record<string, string>> = {}) =>
    start([binary, 'serve'], { PATH: '/nonexistent', LD_LIBRARY_PATH: '', NODE_PATH: '', ...env })

  /** A root with the executable, the libraries of the C compiler that it needs, and nothing else. */
  function prepareRoot(): void {
    const root = dirname(binary)
    const needed = [binary, ...readdirSync(NATIVE).map((name) => join(NATIVE, name))]
    const listed = needed.map((path) => spawnSync('ldd', [path], { encoding: 'utf8' }).stdout).join('\n')
    const libraries = new Set(listed.match(/(?<=\s)\/\S+(?= \()/g)?.filter((path) => !path.startsWith(NATIVE)))
    for (const path of libraries) {
      mkdirSync(join(root, dirname(path)), { recursive: true })
      copyFileSync(path, join(root, path))
    }
    for (const path of ['proc', home]) mkdirSync(join(root, path), { recursive: true })
    chmodSync(folder, 0o755)
    chownSync(home, NOBODY, NOBODY)
  }

  const rowsOf = async () => {
    const options = { uri: `sqlite:///${home}/data/catalog.db`, warehouse: `file://${home}/data/warehouse` }
    const read = await runPython<Record<string, Rows>>('pyiceberg_rows.py', { ...options, tables: TABLES })
    return Object.fromEntries(TABLES.map((table) => [table, { count: read[table]?.count, hash: read[table]?.hash }]))
  }
  const engineOf = async (service: Service): Promise<unknown> =>
    (await service.read<{ checks: { engine: string } }>('/api/health')).checks.engine

  it.skipIf(!pyicebergAvailable('the executable'))(
    'makes the demo, serves the page and compacts, alone in a read-only root and as another user',
    async () => {
      const problem = rootProblem()
      if (problem !== undefined) process.stderr.write(`\nNOT IN A ROOT OF ITS OWN: ${problem}\n`)
      else prepareRoot()
      const inRoot = ['unshare', '-m', 'sh', '-c', IN_ROOT, 'sh', dirname(binary), home]
      const service = await (problem === undefined ? start(inRoot) : alone())
      await until(async () => (await service.read<{ demo: unknown }>('/api/health')).demo === null, undefined, 120_000)
      expect(await until(async () => (await engineOf(service)) === 'ok')).toBe(true)
      const before = await rowsOf()
      expect(before['demo.events']?.count).toBe(119_400)
      const compacted = await service.operate('/api/compact', { table: 'demo.events' })
      expect(compacted.details).toMatchObject({ rewritten_data_files_count: 240, added_data_files_count: 1 })
      expect(await rowsOf()).toEqual(before)

      const page = await fetch(`http://127.0.0.1:${service.port}/`, { headers: { 'Accept-Encoding': 'identity' } })
      const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? []
      const asset = (encoding: string) =>
        fetch(`http://127.0.0.1:${service.port}${script}`, {
          headers: { 'Accept-Encoding': encoding },
          decompress: false,
        } as RequestInit)
      const [plain, packed] = await Promise.all([asset('identity'), asset('gzip')])
      expect(plain.headers.get('content-type')).toContain('javascript')
      expect(packed.headers.get('content-encoding')).toBe('gzip')
      expect(gunzipSync(await packed.arrayBuffer()).equals(Buffer.from(await plain.arrayBuffer()))).toBe(true)

      const messages: unknown[] = []
      const watched = service.watch((message) => messages.push(message))
      await watched.opened
      await until(() => messages.length > 0)
      watched.close()
      expect(await service.stop()).toBe(0)
    },
  )

  it('starts again from another folder, with damaged and foreign files of its library replaced', async () => {
    const LOCKHOUSE_HOME = mkdtempSync(join(folder, 'own-'))
    const first = await alone({ LOCKHOUSE_HOME })
    await until(async () => (await engineOf(first)) === 'ok')
    await first.stop()
    const root = join(LOCKHOUSE_HOME, 'native')
    const [version = ''] = readdirSync(root)
    const library = join(root, version, 'libduckdb.so')
    const complete = readFileSync(library)
    truncateSync(library, complete.length - 1000)
    chmodSync(join(root, version), 0o777)
    const second = await alone({ LOCKHOUSE_HOME })
    await until(async () => (await engineOf(second)) === 'ok')
    expect(readFileSync(library).equals(complete)).toBe(true)
    expect(statSync(join(root, version)).mode & 0o777).toBe(0o700)
    // a process for user SQL may unpack the library meanwhile, and may have been killed in the midst of it
    expect(readdirSync(join(root, version))).toEqual(expect.arrayContaining(['duckdb.node', 'libduckdb.so']))
    expect(await second.stop()).toBe(0)
  })

  it('unpacks its library once for processes that start together', async () => {
    const others = await Promise.all(
      [1, 2, 3].map((number) =>
        Service.start({
          home: mkdtempSync(join(folder, `home-${number}-`)),
          command: [binary, 'serve'],
          cwd: elsewhere,
          env: { LOCKHOUSE_DEMO: '0' },
        }),
      ),
    )
    services.push(...others)
    for (const service of others) {
      expect(await until(async () => (await engineOf(service)) === 'ok')).toBe(true)
      expect((await service.get('/api/tables')).status).toBe(200)
      await service.stop()
    }
  })

  it.each([
    [['serve'], { LOCKHOUSE_HOME: '/proc/nowhere' }, 1, /^Lockhouse cannot start: LOCKHOUSE_HOME .+\n$/],
    [['serve'], { PORT: 'x' }, 1, /^Lockhouse cannot start: PORT .+\n$/],
    [['fly'], {}, 2, /^lockhouse: unknown command fly; see lockhouse help\n$/],
    [['serve', '--fast'], {}, 2, /^lockhouse: unexpected argument --fast; see lockhouse help\n$/],
  ])('ends %j with %j in one line', (args, env, code, output) => {
    const ended = spawnSync(binary, args, { cwd: elsewhere, env, encoding: 'utf8' })
    expect(ended.stderr).toMatch(output)
    expect(ended.status).toBe(code)
  })

  it('is named in SHA256SUMS with its checksum', () => {
    const sum = createHash('sha256').update(readFileSync(binary)).digest('hex')
    expect(readFileSync(join(RELEASE, 'SHA256SUMS'), 'utf8')).toBe(`${sum}  ${fileName}\n`)
  })

  it('says its version and its commands', () => {
    const run = (...args: string[]) => spawnSync(binary, args, { cwd: elsewhere, encoding: 'utf8' }).stdout
    expect(run('version')).toBe(`${version}\n`)
    expect(run('help')).toContain('serve')
  })
})
