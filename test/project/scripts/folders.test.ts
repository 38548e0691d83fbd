import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { circleProblems, sublayerProblems, type Sublayers, sublayerTable } from '../../../scripts/checks/folders.ts'

type Files = Readonly<Record<string, string>>

const circles = (files: Files): string[] => circleProblems(new Map(Object.entries(files)))

const upward = (files: Files, sublayers: Sublayers): string[] =>
  sublayerProblems(new Map(Object.entries(files)), sublayers)

describe('circles between folders', () => {
  it('a circle is found when two folders import each other through different files', () => {
    expect(
      circles({
        'src/a/x.ts': `import { y } from '../b/y.ts'`,
        'src/b/y.ts': '',
        'src/b/z.ts': `import type { W } from '../a/w.ts'`,
        'src/a/w.ts': '',
      }),
    ).toEqual(['circle in src between a, b: src/a/x.ts imports src/b/y.ts; src/b/z.ts imports src/a/w.ts'])
  })

  it('circles are found at every depth of the service and of the page', () => {
    const pair = (folder: string): Files => ({
      [`${folder}/a/x.ts`]: `import '../b/y.tsx'`,
      [`${folder}/b/y.tsx`]: '',
      [`${folder}/b/z.tsx`]: `const w = await import('../a/w.ts')`,
      [`${folder}/a/w.ts`]: '',
    })
    const found = circles({ ...pair('src/one/two/three'), ...pair('frontend/src/features') })
    expect(found.map((problem) => problem.split(':')[0])).toEqual([
      'circle in src/one/two/three between a, b',
      'circle in frontend/src/features between a, b',
    ])
  })

  it('a circle is found when a folder imports a file of its parent that leads back to the folder', () => {
    expect(
      circles({
        'src/a/run.ts': `import './steps.ts'`,
        'src/a/steps.ts': `import './inner/first.ts'`,
        'src/a/inner/first.ts': '',
        'src/a/inner/second.ts': `import '../run.ts'`,
      }),
    ).toEqual([
      'circle in src/a between inner, run.ts, steps.ts: src/a/inner/second.ts imports src/a/run.ts; ' +
        'src/a/run.ts imports src/a/steps.ts; src/a/steps.ts imports src/a/inner/first.ts',
    ])
  })

  it('circles are reported once, with all members, when they share a folder', () => {
    const found = circles({
      'src/a/1.ts': `import '../b/2.ts'`,
      'src/a/2.ts': `import '../c/2.ts'`,
      'src/a/3.ts': '',
      'src/b/1.ts': `import '../a/3.ts'`,
      'src/b/2.ts': '',
      'src/c/1.ts': `import '../a/3.ts'`,
      'src/c/2.ts': '',
      'src/d/1.ts': `import '../a/1.ts'`,
    })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(/^circle in src between a, b, c: /)
  })

  it('no circle is found when some files of a parent use its folders and the folders use others', () => {
    expect(
      circles({
        'src/a/index.ts': `import './inner/x.ts'\nimport './errors.ts'`,
        'src/a/errors.ts': `import '../lib/text.ts'`,
        'src/a/inner/x.ts': `import '../errors.ts'\nimport { z } from 'zod'`,
        'src/lib/text.ts': '',
      }),
    ).toEqual([])
  })
})

describe('floors', () => {
  const floors: Sublayers = { 'src/a': [['top'], ['left', 'right'], ['low']] }
  const good: Files = {
    'src/a/top/1.ts': `import '../left/1.ts'\nimport '../low/1.ts'`,
    'src/a/left/1.ts': `import '../low/1.ts'`,
    'src/a/right/1.ts': `import '../shared.ts'`,
    'src/a/low/1.ts': '',
    'src/a/shared.ts': `import './low/1.ts'`,
    'src/b/1.ts': `import '../a/low/1.ts'`,
  }

  it('a folder may import lower floors, and any other folder may import each floor', () => {
    expect(upward(good, floors)).toEqual([])
  })

  it('an import is refused when its target is on a higher floor or on the same floor', () => {
    const files = {
      ...good,
      'src/a/low/2.ts': `import '../top/1.ts'`,
      'src/a/left/2.ts': `import type { R } from '../right/1.ts'`,
    }
    expect(upward(files, floors)).toEqual([
      'src/a/left/2.ts leads to src/a/right/1.ts: layers.json has right on the same floor in src/a',
      'src/a/low/2.ts leads to src/a/top/1.ts: layers.json has top above it in src/a',
    ])
  })

  it('an import is refused when files of the parent lead to a higher floor', () => {
    const files = {
      ...good,
      'src/a/low/2.ts': `import '../way.ts'`,
      'src/a/way.ts': `import './further.ts'`,
      'src/a/further.ts': `import './top/1.ts'`,
    }
    expect(upward(files, floors)).toEqual([
      'src/a/low/2.ts leads to src/a/top/1.ts: layers.json has top above it in src/a',
    ])
  })

  it('floors name each folder that exists, and no other', () => {
    const files = { 'src/a/top/1.ts': '', 'src/a/new/1.ts': '' }
    expect(upward(files, { 'src/a': [['top'], ['gone']], 'src/c': [['x']] })).toEqual([
      'src/a/new is on no floor in layers.json',
      'layers.json has a floor for src/a/gone, which does not exist',
      'layers.json has floors for src/c, which does not exist',
    ])
  })
})

describe('the table of ARCHITECTURE.md', () => {
  it('the table lists floors from the top down', () => {
    expect(sublayerTable({ 'src/a': [['top'], ['left', 'right']], 'src/b': [['x']] })).toBe(
      ['| In | Folders, from the top down |', '|---|---|', '| `src/a/` | top → left, right |', '| `src/b/` | x |'].join(
        '\n',
      ),
    )
  })

  it('the table in ARCHITECTURE.md is the one of layers.json', () => {
    const root = join(import.meta.dirname, '../../..')
    const { sublayers } = JSON.parse(readFileSync(join(root, 'layers.json'), 'utf8'))
    expect(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')).toContain(sublayerTable(sublayers))
  })
})
