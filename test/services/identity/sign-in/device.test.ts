import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runLockhouse, startLockhouse } from '../../../cli/lockhouse-process.ts'
import { type OidcProvider, startOidcProvider } from '../../../support/network/oidc-provider.ts'
import { visitProvider } from '../../../support/network/provider-visit.ts'
import { type ServedService, startServedService } from '../../../support/served.ts'

let provider: OidcProvider
let served: ServedService
let home: string
beforeAll(async () => {
  provider = await startOidcProvider()
  served = await startServedService({ env: provider.env })
  home = await mkdtemp(join(tmpdir(), 'lockhouse-login-'))
}, 60_000)
afterAll(async () => {
  await served.stop(false)
  await provider.close()
  await rm(home, { recursive: true, force: true })
})

/** Confirms the code of a device as a person does with a browser. */
async function confirm(link: string): Promise<void> {
  const visit = visitProvider(provider.issuer)
  const { page: code = '' } = await visit.open(link)
  const { page: question = '' } = await visit.submit(code, {})
  await visit.submit(question, {})
}

const post = (path: string, body: unknown) => served.service.post(path, body, { token: null })

it(
  'lockhouse login signs in with another device, and lockhouse logout ends the session',
  { timeout: 60_000 },
  async () => {
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, 'config') }
    const started = startLockhouse(['login'], { cwd: home, host: served.host, env })
    let said = ''
    started.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    started.stdin.end()
    await expect.poll(() => said, { timeout: 30_000 }).toMatch(/Open \S+\nand confirm the code/)
    await confirm(/Open (\S+)/.exec(said)?.[1] ?? '')
    const [code] = await once(started, 'close')
    expect([code, said.split('\n').at(-2)]).toEqual([0, 'signed in as ada, LeadDataEngineer'])
    expect(await text(started.stdout)).toBe('')

    const file = join(home, 'config', 'lockhouse', 'sessions.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const [[address, token] = ['', '']] = Object.entries<string>(JSON.parse(await readFile(file, 'utf8')))
    expect([address, token]).toEqual([`http://${served.host}`, expect.stringMatching(/^lhs_[\w-]{43}$/)])
    expect(said).not.toContain(token)

    const bearer = { token }
    expect((await served.service.get('/api/auth/me', bearer)).body).toMatchObject({ user: 'ada', via: 'token' })
    // the token of a command line is no cookie, and opens no session of a browser
    const cookie = await served.service.get('/api/auth/me', {
      token: null,
      headers: { Cookie: `lockhouse_session=${token}` },
    })
    expect(cookie.status).toBe(401)
    expect((await post('/api/auth/session', { token })).status).toBe(403)

    const out = await runLockhouse(['logout'], {
      cwd: home,
      host: served.host,
      env: { ...env, LOCKHOUSE_TOKEN: 'lh_x' },
    })
    expect([out.code, out.err]).toEqual([0, 'signed out\n'])
    expect((await served.service.get('/api/auth/me', bearer)).status).toBe(401)
    expect(await readFile(file, 'utf8')).toBe('{}\n')
  },
)

it('a device that nobody has confirmed waits, and a code that nobody issued is refused', async () => {
  const { body } = await post('/api/auth/device', undefined)
  const waiting = await post('/api/auth/device/token', { device_code: body.device_code })
  expect([waiting.status, waiting.body]).toEqual([202, { slower_by: 0 }])
  const unknown = await post('/api/auth/device/token', { device_code: 'x'.repeat(43) })
  expect([unknown.status, unknown.body.code]).toEqual([422, 'UNPROCESSABLE'])
})

it('a device of a user without a role is refused, and its code is used up', async () => {
  provider.people.set('eve', { groups: ['everyone'] })
  provider.login = 'eve'
  const { body } = await post('/api/auth/device', undefined)
  await confirm(body.verification_uri_complete)
  const refused = await post('/api/auth/device/token', { device_code: body.device_code })
  expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
  expect((await post('/api/auth/device/token', { device_code: body.device_code })).status).toBe(422)
})
