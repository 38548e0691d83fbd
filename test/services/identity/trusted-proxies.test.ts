import { afterEach, describe, expect, it } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'
import { clientKey, isInNetwork, parseIpAddress, parseIpNetwork } from '../../../src/domain/network/ip-address.ts'
import { startTestService, type TestService } from '../../support/service.ts'

let service: TestService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

/** Uses all attempts of one client, and returns whether another request counts as the same client. */
async function isSameClient(proxies: string, first: Client, second: Client): Promise<boolean> {
  service = await startTestService({ env: { TRUSTED_PROXIES: proxies } })
  const statusFrom = async ({ peer, forwardedFor }: Client): Promise<number> => {
    const headers: Record<string, string> = forwardedFor === undefined ? {} : { 'X-Forwarded-For': forwardedFor }
    const token = 'lh_not-a-token'
    return (await service!.get('/api/auth/me', { token, headers, remoteAddress: peer })).status
  }
  for (let i = 0; i < 10; i++) expect(await statusFrom(first)).toBe(401)
  expect(await statusFrom(first)).toBe(429)
  return (await statusFrom(second)) === 429
}

interface Client {
  readonly peer: string
  readonly forwardedFor?: string
}

const PROXY = '10.1.2.3'
const TRUSTED = '10.0.0.0/8, 2001:db8::/32'

describe('X-Forwarded-For', () => {
  it.each<readonly [string, Client, Client, boolean]>([
    [
      'separates clients of a trusted proxy',
      { peer: PROXY, forwardedFor: '1.1.1.1' },
      { peer: PROXY, forwardedFor: '1.1.1.2' },
      false,
    ],
    [
      'identifies one client at two trusted proxies',
      { peer: PROXY, forwardedFor: '1.1.1.1' },
      { peer: '2001:db8::7', forwardedFor: '1.1.1.1' },
      true,
    ],
    ['may have a port', { peer: PROXY, forwardedFor: '1.1.1.1:4711' }, { peer: PROXY, forwardedFor: '1.1.1.1' }, true],
    [
      'may have an IPv6 address with a port',
      { peer: PROXY, forwardedFor: '[2001:4860::1]:80' },
      { peer: PROXY, forwardedFor: '2001:4860::1' },
      true,
    ],
    [
      'is read behind several trusted proxies',
      { peer: PROXY, forwardedFor: '1.1.1.1, 10.9.9.9' },
      { peer: PROXY, forwardedFor: '1.1.1.1' },
      true,
    ],
    [
      'ignores addresses that the client added itself',
      { peer: PROXY, forwardedFor: '9.9.9.9, 1.1.1.1' },
      { peer: PROXY, forwardedFor: '8.8.8.8, 1.1.1.1' },
      true,
    ],
    [
      'is ignored from an untrusted peer',
      { peer: '1.2.3.4', forwardedFor: '1.1.1.1' },
      { peer: '1.2.3.4', forwardedFor: '1.1.1.2' },
      true,
    ],
    [
      'without a valid address counts as the proxy',
      { peer: PROXY, forwardedFor: 'unknown' },
      { peer: PROXY, forwardedFor: '1.1.1.1, x' },
      true,
    ],
    ['that is absent counts as the proxy', { peer: PROXY }, { peer: PROXY, forwardedFor: '1.1.1.1' }, false],
    [
      'is read when the proxy connects over mapped IPv4',
      { peer: `::ffff:${PROXY}`, forwardedFor: '1.1.1.1' },
      { peer: PROXY, forwardedFor: '1.1.1.1' },
      true,
    ],
  ])('%s', async (_, first, second, same) => {
    expect(await isSameClient(TRUSTED, first, second)).toBe(same)
  })

  it('is ignored when no proxy is trusted', async () => {
    expect(
      await isSameClient('', { peer: PROXY, forwardedFor: '1.1.1.1' }, { peer: PROXY, forwardedFor: '2.2.2.2' }),
    ).toBe(true)
  })
})

describe('TRUSTED_PROXIES', () => {
  it.each([
    'proxy.example',
    '10.0.0.0/33',
    '10.0.0/8',
    '2001:db8::/129',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '1.2.3.4;5.6.7.8',
  ])('%s stops the start with its name and the value', (value) => {
    expect(() => parseConfig({ TRUSTED_PROXIES: `127.0.0.1,${value}` })).toThrow(
      `TRUSTED_PROXIES must be comma-separated addresses or networks, such as 10.0.0.0/8, not ${JSON.stringify(value)}`,
    )
  })

  it('are networks', () => {
    const network = parseIpNetwork('172.16.0.0/12')!
    for (const [address, inside] of [
      ['172.16.0.1', true],
      ['172.31.255.255', true],
      ['172.32.0.0', false],
      ['::1', false],
    ] as const) {
      expect(isInNetwork(parseIpAddress(address)!, network), address).toBe(inside)
    }
    expect(parseConfig({}).trustedProxies).toEqual([])
    expect(['1.2.3.4', '::ffff:1.2.3.4', '2001:DB8:0:0:1::1', 'x'].map(clientKey)).toEqual([
      '1.2.3.4',
      '1.2.3.4',
      '2001:db8:0:0::/64',
      'x',
    ])
  })
})
