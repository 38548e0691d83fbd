import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

describe('bunfig.toml', () => {
  let folder: string
  let asked: string[]
  const registry = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(404).end()
  })

  beforeEach(async () => {
    asked = []
    folder = mkdtempSync(join(tmpdir(), 'bunfig-test-'))
    writeFileSync(join(folder, 'main.ts'), "import missing from 'lockhouse-missing-package'\nconsole.log(missing)\n")
    registry.listen(0, '127.0.0.1')
    await once(registry, 'listening')
  })

  afterEach(async () => {
    registry.closeAllConnections()
    registry.close()
    await once(registry, 'close')
    rmSync(folder, { recursive: true, force: true })
  })

  async function exitCode(): Promise<unknown> {
    const { port } = registry.address() as AddressInfo
    const env = { PATH: process.env['PATH'], HOME: folder, BUN_CONFIG_REGISTRY: `http://127.0.0.1:${port}/` }
    const child = spawn(join(root, 'node_modules/.bin/bun'), ['main.ts'], { cwd: folder, env, stdio: 'ignore' })
    const [code] = await once(child, 'exit')
    return code
  }

  it('keeps Bun from downloading a missing package', async () => {
    expect(await exitCode()).toBe(1)
    expect(asked).not.toEqual([]) // without the file, Bun asks the registry
    asked = []
    copyFileSync(join(root, 'bunfig.toml'), join(folder, 'bunfig.toml'))
    expect(await exitCode()).toBe(1)
    expect(asked).toEqual([])
  })
})
