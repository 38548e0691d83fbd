import { createServer } from 'node:https'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isPublicAddress } from '../../../src/domain/network/public-address.ts'
import { createHttpSender } from '../../../src/services/outbound/http-sender.ts'
import { type FakeReceiver, startFakeReceiver } from '../../support/network/fake-receiver.ts'

let receiver: FakeReceiver
beforeEach(async () => {
  receiver = await startFakeReceiver()
})
afterEach(() => receiver.close())

const message = (url: string, signal: AbortSignal = AbortSignal.timeout(5000)) => ({
  url,
  headers: { 'X-A': 'b' },
  body: '{}',
  signal,
})
const port = (): string => new URL(receiver.url).port

describe('sending to a webhook', () => {
  it('refuses a name with an address of this machine or its network, even if it has other addresses', async () => {
    const answers = [
      '127.0.0.1',
      '10.0.0.1',
      '::1',
      '169.254.169.254',
      '::ffff:127.0.0.1',
      'fe80::1%eth0',
      '64:ff9b::7f00:1',
    ]
    for (const address of answers) {
      for (const addresses of [[address], ['93.184.216.34', address]]) {
        const send = createHttpSender({ allowPrivate: false, resolve: async () => addresses })
        const sending = send(message(`http://rebound.example:${port()}/hook`))
        await expect(sending, addresses.join()).rejects.toMatchObject({ name: 'ForbiddenAddressError' })
      }
    }
    const send = createHttpSender({ allowPrivate: false })
    for (const host of ['127.0.0.1', '[::1]', 'localhost', '0.0.0.0', '[::ffff:7f00:1]']) {
      await expect(send(message(`http://${host}:${port()}/hook`))).rejects.toMatchObject({
        name: 'ForbiddenAddressError',
      })
    }
    expect(receiver.received).toEqual([])
  })

  it('connects to the checked address: the name is resolved once', async () => {
    let lookups = 0
    const resolve = async (name: string) => {
      lookups += 1
      expect(name).toBe('hooks.example')
      return lookups === 1 ? ['127.0.0.1'] : ['127.0.0.2']
    }
    const send = createHttpSender({ allowPrivate: true, resolve })
    expect(await send(message(`http://hooks.example:${port()}/a?b=c`))).toEqual({ status: 200 })
    expect(lookups).toBe(1)
    expect(receiver.received).toMatchObject([
      { path: '/a?b=c', body: '{}', headers: { host: `hooks.example:${port()}`, 'x-a': 'b' } },
    ])
  })

  it('stops at its time limit', async () => {
    receiver.replies = ['hang']
    const send = createHttpSender({ allowPrivate: true })
    const startedAt = performance.now()
    await expect(send(message(receiver.url, AbortSignal.timeout(200)))).rejects.toThrow()
    expect(performance.now() - startedAt).toBeLessThan(20_000)
  })

  it('checks the certificate against the name, not the address', async () => {
    const folder = join(import.meta.dirname, '../../fixtures/tls')
    const ca = readFileSync(join(folder, 'hooks.example.cert.pem'), 'utf8')
    const key = readFileSync(join(folder, 'hooks.example.key.pem'), 'utf8')
    const server = createServer({ key, cert: ca }, (_, response) => response.writeHead(204).end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const at = typeof address === 'object' && address !== null ? address.port : 0
    const resolve = async () => ['127.0.0.1']
    const trusting = createHttpSender({ allowPrivate: true, resolve, ca })
    expect(await trusting(message(`https://hooks.example:${at}/`))).toEqual({ status: 204 })
    await expect(trusting(message(`https://other.example:${at}/`))).rejects.toThrow()
    await expect(
      createHttpSender({ allowPrivate: true, resolve })(message(`https://hooks.example:${at}/`)),
    ).rejects.toThrow()
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })
})

describe('public addresses', () => {
  it.each([
    '1.1.1.1',
    '93.184.216.34',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
    '::ffff:1.1.1.1',
  ])('%s is one', (address) => expect(isPublicAddress(address)).toBe(true))
  it.each([
    '0.0.0.0',
    '10.0.0.0',
    '100.64.0.1',
    '127.255.255.255',
    '169.254.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.168.255.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::1',
    '3fff::1',
    '5f00::1',
    'fe80::1%eth0',
    '256.1.1.1',
    '1.1.1',
    'x',
    '',
  ])('%s is none', (address) => expect(isPublicAddress(address)).toBe(false))
})
