import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { LONG } from '../support/effort.ts'

const MAX_FIRST_LOAD_BYTES = 280_000

describe('the built page', LONG, () => {
  let folder: string
  let html: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-page-'))
    const configFile = fileURLToPath(new URL('../../frontend/vite.config.ts', import.meta.url))
    vi.stubEnv('NODE_ENV', 'production') // otherwise the parts would be built for development
    await build({ configFile, logLevel: 'error', build: { outDir: folder } })
    vi.unstubAllEnvs()
    html = await readFile(join(folder, 'index.html'), 'utf8')
  }, 300_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('has no inline script or style, so that the content security policy allows all of it', () => {
    for (const [, attributes, text] of html.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)) {
      expect(attributes).toContain('src="/')
      expect(text).toBe('')
    }
    expect(html).not.toMatch(/<style|style=|\son\w+=/)
  })

  test('loads less than 280 kB of compressed scripts and styles before the first render', async () => {
    const parts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(([, path]) => path ?? '')
    expect(parts.length).toBeGreaterThan(0)
    const sizes = await Promise.all(
      parts.map(async (path) => {
        const found = await stat(join(folder, `${path}.br`)).catch(() => stat(join(folder, path)))
        return found.size
      }),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_FIRST_LOAD_BYTES)
  })

  test('has a compressed copy of every large file with the same content', async () => {
    const names = await readdir(folder, { recursive: true })
    const plain = names.filter((name) => /\.(js|css|html)$/.test(name))
    let compared = 0
    for (const name of plain) {
      const bytes = await readFile(join(folder, name))
      if (bytes.length < 1024) continue
      expect(brotliDecompressSync(await readFile(join(folder, `${name}.br`))).equals(bytes), name).toBe(true)
      expect(gunzipSync(await readFile(join(folder, `${name}.gz`))).equals(bytes), name).toBe(true)
      compared += 1
    }
    expect(compared).toBeGreaterThan(10)
  })

  test('keeps code that few pages need out of the first load', () => {
    expect(html).not.toMatch(
      /definition-page|chart|agent-page|action-drawer|markdown-view|palette|shortcut-help|inbox-page|assets\/table-/,
    )
  })

  test('loads zod only with forms, not before the first render', async () => {
    const names = (await readdir(join(folder, 'assets'))).filter((name) => name.endsWith('.js'))
    const texts = await Promise.all(names.map((name) => readFile(join(folder, 'assets', name), 'utf8')))
    const withZod = names.filter((_name, index) => (texts[index] ?? '').includes('safeParseAsync'))
    expect(withZod.length).toBeGreaterThan(0)
    for (const name of withZod) expect(html).not.toContain(name)
  })
})
