import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Layer, layerGraph, layerProblems } from '../../../scripts/checks/layers.ts'

const layer = (imports: readonly string[], packages: readonly string[] = []): Layer => ({ imports, packages })

function problems(
  files: Readonly<Record<string, string>>,
  layers: Readonly<Record<string, Layer>>,
  maxEntries = 21,
): string[] {
  return layerProblems(new Map(Object.entries(files)), { maxEntries, layers })
}

describe('imports between folders', () => {
  const layers = { routes: layer(['services']), services: layer([]) }
  const good = { 'routes/a.ts': `import { b } from '../services/b.ts'`, 'services/b.ts': 'export const b = 1' }

  it('are accepted where the list allows them, and within a folder', () => {
    expect(problems({ ...good, 'services/c.ts': `import { b } from './b.ts'` }, layers)).toEqual([])
  })

  it.each([
    ['a value', `import { a } from '../routes/a.ts'`],
    ['a type', `import type { A } from '../routes/a.ts'`],
    ['several lines', `import {\n  a,\n  type B,\n} from '../routes/a.ts'`],
    ['a default', `import a from "../routes/a.ts"`],
    ['a namespace', `import * as a from '../routes/a.ts'`],
    ['an import for its effect', `import '../routes/a.ts'`],
    ['an indented import', `  import { a } from '../routes/a.ts'`],
    ['a re-export', `export { a } from '../routes/a.ts'`],
    ['a type re-export', `export type { A } from '../routes/a.ts'`],
    ['a re-export of everything', `export * from '../routes/a.ts'`],
    ['a re-export under a name', `export * as a from '../routes/a.ts'`],
    ['a dynamic import', `const a = await import('../routes/a.ts')`],
    ['the type of a dynamic import', `let a: import('../routes/a.ts').A`],
    ['a longer path to the same folder', `import { a } from '../services/../routes/a.ts'`],
  ])('are refused elsewhere: %s', (_, text) => {
    expect(problems({ ...good, 'services/b.ts': text }, layers)).toContain(
      'src/services/b.ts imports src/routes/a.ts: layers.json does not allow services to import routes',
    )
  })

  it('must have a target that can be read, inside of src', () => {
    const found = problems(
      { ...good, 'services/b.ts': `import { x } from '../../test/x.ts'\nconst a = await import(name)` },
      layers,
    )
    expect(found).toContain('src/services/b.ts imports ../test/x.ts, outside of src')
    expect(found).toContain('src/services/b.ts has an import() whose target is not a literal')
  })

  it('are not seen in methods that are called import', () => {
    const text = `export const service = {\n  import(document) {\n    return other.import(document)\n  },\n}`
    expect(problems({ ...good, 'services/b.ts': text }, layers)).toEqual([])
  })
})

describe('packages', () => {
  it('are refused where the list does not have them, with all their subpaths', () => {
    const text = `import { Hono } from 'hono/tiny'\nimport { x } from '@aws-sdk/client-s3/x'\nimport { z } from 'zod'`
    expect(problems({ 'services/b.ts': text }, { services: layer([], ['zod']) })).toEqual([
      'src/services/b.ts imports hono: layers.json does not allow services to',
      'src/services/b.ts imports @aws-sdk/client-s3: layers.json does not allow services to',
    ])
    expect(problems({ 'a/b.ts': `import { open } from 'node:fs/promises'` }, { a: layer([], ['node:fs']) })).toEqual([])
  })
})

describe('the list', () => {
  it('names every folder, and none that does not exist', () => {
    expect(problems({ 'new/a.ts': '' }, { old: layer([]) })).toEqual([
      'src/new is not in layers.json: list what it may import',
      'layers.json lists old, which src does not have',
    ])
  })

  it('allows nothing that no file needs', () => {
    expect(problems({ 'a/a.ts': '', 'b/b.ts': '' }, { a: layer(['b'], ['zod']), b: layer([]) })).toEqual([
      'layers.json allows a to import b, which nothing does',
      'layers.json allows a to import zod, which nothing does',
    ])
  })

  it('has no cycle', () => {
    const files = { 'a/a.ts': `import '../b/b.ts'`, 'a/c.ts': '', 'b/b.ts': `import '../a/c.ts'` }
    expect(problems(files, { a: layer(['b']), b: layer(['a']) })).toEqual(['cycle in layers.json: a → b → a'])
  })
})

describe('cycles between files', () => {
  it('are found, also those of types alone', () => {
    const files = {
      'a/main.ts': `import { x } from './x.ts'`,
      'a/x.ts': `import type { Y } from './y.ts'`,
      'a/y.ts': `import type { Z } from './z.ts'`,
      'a/z.ts': `export type { X } from './x.ts'`,
    }
    expect(problems(files, { a: layer([]) })).toEqual(['cycle between files: a/x.ts → a/y.ts → a/z.ts → a/x.ts'])
  })

  it('are told from files that are imported twice', () => {
    const files = { 'a/w.ts': `import './x.ts'\nimport './y.ts'`, 'a/x.ts': `import './y.ts'`, 'a/y.ts': '' }
    expect(problems(files, { a: layer([]) })).toEqual([])
  })

  it('are found in a chain of 20,000 files', () => {
    const files = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, at) => [`f/${at % 20}/${at}.ts`, `import '../${(at + 1) % 20}/${at + 1}.ts'`]),
    )
    const last = `import '../0/0.ts'`
    const found = problems({ ...files, 'f/19/19999.ts': last }, { f: layer([]) }, 20_000)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(/^cycle between files: f\/0\/0\.ts → f\/1\/1\.ts/)
  })
})

describe('folders', () => {
  it('have no more entries than the list says', () => {
    const files = { 'a/1.ts': '', 'a/2.ts': '', 'a/b/1.ts': '', 'a/b/2.ts': '' }
    expect(problems(files, { a: layer([]) }, 3)).toEqual([])
    expect(problems({ ...files, 'a/b/3.ts': '', 'a/3.ts': '' }, { a: layer([]) }, 3)).toEqual([
      'src/a has 4 entries, more than 3: split it',
    ])
  })
})

describe('the graph', () => {
  it('leaves out what follows from other edges', () => {
    const layers = { 'app.ts': layer(['routes', 'services']), routes: layer(['services']), services: layer([]) }
    expect(layerGraph({ maxEntries: 21, layers })).toBe(
      ['```mermaid', 'graph TD', '  app_ts[app.ts] --> routes', '  routes --> services', '```'].join('\n'),
    )
  })

  it('of ARCHITECTURE.md is that of layers.json', () => {
    const root = join(import.meta.dirname, '../../..')
    const list = JSON.parse(readFileSync(join(root, 'layers.json'), 'utf8'))
    expect(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')).toContain(layerGraph(list))
  })
})
