import { describe, expect, it } from 'vitest'
import { brokenReferences } from '../../../scripts/checks/check-references.ts'

const files: Readonly<Record<string, string>> = {
  'docs/notes.md': '# Notes\n\n## Row ids (v3)\n\nSee [above](#notes).\n',
  'src/a.ts': '',
}
const check = (path: string, text: string): string[] => brokenReferences(path, text, (target: string) => files[target])

describe('references in comments and documents', () => {
  it('accepts documents, headings and files that exist', () => {
    expect(
      check(
        'src/a.ts',
        '// docs/notes.md, docs/notes.md#row-ids-v3; RFC 9110, section 8.8.3; Iceberg spec, "Manifests"',
      ),
    ).toEqual([])
    expect(
      check('docs/guide.md', '[Notes](notes.md#notes), `src/a.ts`, [spec](https://iceberg.apache.org/spec/)'),
    ).toEqual([])
    expect(check('docs/notes.md', files['docs/notes.md'] ?? '')).toEqual([])
  })

  it('reports documents, headings and files that do not exist, with the line', () => {
    expect(check('src/a.ts', '\n// docs/gone.md')).toEqual(['2: there is no docs/gone.md'])
    expect(check('src/a.ts', '// docs/notes.md#gone')).toEqual(['1: docs/notes.md has no heading #gone'])
    expect(check('docs/guide.md', '[Notes](gone.md)')).toEqual(['1: there is no docs/gone.md'])
    expect(check('docs/notes.md', '[Notes](#gone)')).toEqual(['1: docs/notes.md has no heading #gone'])
    expect(check('docs/guide.md', '`src/b.ts`')).toEqual(['1: there is no src/b.ts'])
  })

  it('reports citations of documents that are not published', () => {
    for (const text of [
      '(contract, section 2)',
      '(spec, section 4)',
      'Spec, sections 2 to 4',
      '(trap 7)',
      'traps 25 to 27',
    ]) {
      expect(check('src/a.ts', `// ${text}`), text).toHaveLength(1)
    }
  })
})
