import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Jupyter, startJupyter, Wire } from '../../support/jupyter/server.ts'
import { KernelClient } from '../../support/jupyter/kernel-client.ts'
import { ask, HANDSHAKE } from '../../notebook-proxy/harness/raw-client.ts'
import { JUPYTER, jupyterAvailable, NotebookHouse, RUNTIMES } from '../harness/notebook-house.ts'
import { until } from '../../support/waiting.ts'

const available = jupyterAvailable('a Jupyter server behind the proxy')
const USER = 'ana@x.example'
const BASE = '/notebook/ana%40x.example'

describe.skipIf(!available).each(RUNTIMES)('a Jupyter server behind the proxy on %s', (runtime) => {
  let jupyter: Jupyter
  let wire: Wire
  let house: NotebookHouse
  let own: Record<string, string>
  let kernel: string

  beforeAll(async () => {
    jupyter = await startJupyter(JUPYTER!, USER)
    wire = await Wire.to(jupyter.baseUrl)
    const target = { baseUrl: wire.baseUrl, token: jupyter.token }
    house = await NotebookHouse.start(runtime, { notebooks: { [USER]: target, bo: target } })
    own = {
      Cookie: house.answer.visitors[USER]!.cookie,
      Origin: house.origin,
      'Sec-Fetch-Site': 'same-origin',
    }
    kernel = (await call('POST', '/api/kernels', {})).id
  })
  afterAll(async () => {
    await house?.stop()
    await wire?.close()
    await jupyter?.stop()
  })

  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
  async function call(method: string, path: string, body?: object): Promise<any> {
    const text = body === undefined ? '' : JSON.stringify(body)
    const answer = await ask(house.answer.port, {
      method,
      path: `${BASE}${path}`,
      headers: { ...own, 'Content-Length': String(Buffer.byteLength(text)), 'Content-Type': 'application/json' },
      body: text,
    })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.text === '' ? undefined : JSON.parse(answer.text)
  }

  function openKernel(): Promise<KernelClient> {
    const url = `ws://127.0.0.1:${house.answer.port}${BASE}/api/kernels/${kernel}/channels?session_id=test`
    return KernelClient.open({ url, headers: own })
  }

  it('is available to its user only', async () => {
    expect((await call('GET', '/api')).version).toMatch(/^\d+\./)
    const { port, visitors } = house.answer
    const before = wire.connections
    const bos = { ...own, Cookie: visitors['bo']!.cookie }
    expect((await ask(port, { path: `${BASE}/api/kernels`, headers: bos })).status).toBe(403)
    const channels = `${BASE}/api/kernels/${kernel}/channels`
    expect((await ask(port, { path: channels, headers: { ...bos, ...HANDSHAKE } })).status).toBe(403)
    const evil = { ...own, 'Sec-Fetch-Site': 'cross-site', Origin: 'http://evil.example' }
    expect((await ask(port, { method: 'POST', path: `${BASE}/api/kernels`, headers: evil })).status).toBe(403)
    expect((await ask(port, { path: channels, headers: { ...evil, ...HANDSHAKE } })).status).toBe(403)
    expect(wire.connections).toBe(before)
  })

  it('runs print(6*7)', async () => {
    const client = await openKernel()
    expect(await client.run('print(6*7)')).toBe('42\n')
    client.socket.close(1000, 'done')
    expect(await client.closed).toEqual([1000, 'done'])
  })

  it('receives and answers 1,000 messages', async () => {
    const client = await openKernel()
    const replies = await Promise.all(Array.from({ length: 1000 }, () => client.info()))
    expect(replies.filter(({ content }) => content.status === 'ok')).toHaveLength(1000)
    client.socket.close()
  })

  it('prints 20 MB', async () => {
    const client = await openKernel()
    const printed = await client.run('import sys\nfor n in range(20): sys.stdout.write(str(n % 10) * 1_000_000)')
    expect(printed.length).toBe(20_000_000)
    expect(printed).toBe(Array.from({ length: 20 }, (_, n) => String(n % 10).repeat(1_000_000)).join(''))
    client.socket.close()
  })

  it('continues after 100 forced disconnects from both sides', async () => {
    for (let round = 0; round < 50; round += 1) {
      const left = await openKernel()
      left.socket.terminate()
      const cut = await openKernel()
      wire.cut()
      expect(await cut.closed).toEqual([1011, 'the notebook closed the connection unexpectedly'])
    }
    const client = await openKernel()
    expect(await client.run('print(6*7)')).toBe('42\n')
    client.socket.close()
    await client.closed
    await until(() => wire.open === 0)
  })

  it('keeps files of 20 MB byte for byte', async () => {
    const bytes = randomBytes(20 * 2 ** 20)
    await call('PUT', '/api/contents/big.bin', { type: 'file', format: 'base64', content: bytes.toString('base64') })
    const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex')
    const response = await fetch(`${house.origin}${BASE}/files/big.bin?token=wrong`, { headers: own })
    expect(response.status).toBe(200)
    expect(sha256(new Uint8Array(await response.arrayBuffer()))).toBe(sha256(bytes))
    expect((await call('GET', '/api/contents/big.bin?content=0')).size).toBe(bytes.length)
    const part = await fetch(`${house.origin}${BASE}/files/big.bin`, { headers: { ...own, Range: 'bytes=100-199' } })
    const received = Buffer.from(await part.arrayBuffer())
    expect(received.equals(part.status === 206 ? bytes.subarray(100, 200) : bytes)).toBe(true)
    await call('DELETE', '/api/contents/big.bin')
  })

  it('runs a terminal', async () => {
    const { name } = await call('POST', '/api/terminals', {})
    const { WebSocket } = await import('ws')
    const socket = new WebSocket(`ws://127.0.0.1:${house.answer.port}${BASE}/terminals/websocket/${name}`, {
      headers: own,
    })
    let text = ''
    socket.on('message', (data: Buffer) => (text += data.toString('utf8')))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    await until(() => text.includes('"setup"'))
    socket.send(JSON.stringify(['stdin', 'echo $((6 * 7))-done\r']))
    await until(() => text.includes('42-done'))
    socket.close()
    await call('DELETE', `/api/terminals/${name}`)
    const left: { name: string }[] = await call('GET', '/api/terminals')
    expect(left.map((one) => one.name)).not.toContain(name)
  })

  it('sets no cookie outside the notebook, and serves user files without their privileges', async () => {
    await call('PUT', '/api/contents/page.html', { type: 'file', format: 'text', content: '<h1>hello</h1>' })
    const page = await ask(house.answer.port, { path: `${BASE}/files/page.html`, headers: own })
    expect(page.text).toBe('<h1>hello</h1>')
    expect(page.headers['content-security-policy']).toMatch(/sandbox allow-scripts.*frame-ancestors 'none'/)
    const lab = await ask(house.answer.port, { path: `${BASE}/lab`, headers: { ...own, Accept: 'text/html' } })
    expect(lab.status).toBe(200)
    for (const cookie of lab.headers['set-cookie'] ?? []) expect(cookie).toContain(`Path=${BASE}/`)
  })
})
