import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What a file loads when it is loaded: neither types nor `import(…)`. */
const LOADED =
  /^\s*(?:import\s+(?!type\s)[\w$*\s{},]*?(?:\sfrom\s*)?|export\s+(?!type\s)(?:\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})\s*from\s*)['"]([^'"]+)['"]/gm

/** All files and packages that are loaded with these files. */
function loadedWith(entries: readonly string[]): { readonly files: Set<string>; readonly packages: Set<string> } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const open = [...entries]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (files.has(file)) continue
    files.add(file)
    for (const [, name = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(LOADED)) {
      if (name.startsWith('.')) open.push(normalize(join(dirname(file), name)))
      else if (!/^(node|bun):/.test(name)) packages.add(packageOf(name))
    }
  }
  return { files, packages }
}

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

const { files, packages } = loadedWith(['src/main.ts', 'src/server/serve-bun.ts', 'src/server/serve-node.ts'])

it('a start loads only the packages that every service uses; `import(…)` loads the others when they are needed', () => {
  expect([...packages].sort()).toEqual([
    '@hono/node-server',
    '@hono/zod-validator',
    'croner',
    'hono',
    'kysely',
    'kysely-bun-sqlite',
    'lru-cache',
    'ws',
    'zod',
  ])
})

it('a start loads neither the engine nor the rules of the built-in assistant, which the first use loads', () => {
  for (const later of ['src/engines/duckdb/duckdb-engine.ts', 'src/agent/builtin/builtin-model.ts']) {
    expect(readFileSync(join(ROOT, later), 'utf8')).toMatch(/export function|export async function/)
    expect(files).not.toContain(later)
  }
  expect(files).toContain('src/services/tables/table-service.ts')
})
