import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Block, parseMarkdown } from '../../frontend/src/features/agent/markdown-blocks.ts'
import { type Inline, parseInline } from '../../frontend/src/features/agent/markdown-inline.ts'

function inlineText(items: readonly Inline[]): string {
  return items
    .map((item) => {
      if (item.kind === 'text' || item.kind === 'code') return item.text
      if (item.kind === 'link') return item.label
      return item.kind === 'break' ? '\n' : inlineText(item.children)
    })
    .join('')
}

function shape(block: Block): unknown {
  switch (block.kind) {
    case 'heading':
      return [`h${block.level}`, inlineText(block.children)]
    case 'paragraph':
      return ['p', inlineText(block.children)]
    case 'code':
      return ['code', block.language, block.text]
    case 'quote':
      return ['quote', ...block.children.map(shape)]
    case 'list':
      return ['list', block.start, ...block.items.map((item) => item.map(shape))]
    case 'table':
      return ['table', [block.head, ...block.rows].map((row) => row.map((cell) => inlineText(cell.children)))]
    default:
      return ['rule']
  }
}

const shapes = (source: string): unknown[] => parseMarkdown(source).map(shape)

describe('inline Markdown', () => {
  it('marks strong, emphasis, strike and code', () => {
    expect(parseInline('a **b** *c* ~~d~~ `e`')).toEqual([
      { kind: 'text', text: 'a ' },
      { kind: 'strong', children: [{ kind: 'text', text: 'b' }] },
      { kind: 'text', text: ' ' },
      { kind: 'emphasis', children: [{ kind: 'text', text: 'c' }] },
      { kind: 'text', text: ' ' },
      { kind: 'strike', children: [{ kind: 'text', text: 'd' }] },
      { kind: 'text', text: ' ' },
      { kind: 'code', text: 'e' },
    ])
  })

  it('leaves names with underscores and lone marks alone', () => {
    for (const text of ['small_file_count', '2 * 3 * 4', 'a ** b', '_open', '**open', '`open']) {
      expect(parseInline(text)).toEqual([{ kind: 'text', text }])
    }
  })

  it('takes what is in code as it is, and what is escaped', () => {
    expect(parseInline('`**x**`')).toEqual([{ kind: 'code', text: '**x**' }])
    expect(parseInline(String.raw`\*x\*`)).toEqual([{ kind: 'text', text: '*x*' }])
    expect(parseInline('`` a`b ``')).toEqual([{ kind: 'code', text: 'a`b' }])
  })

  it('keeps links and images as a label and an address, whatever the scheme', () => {
    expect(parseInline('[x](javascript:alert(1)')).toEqual([
      { kind: 'link', label: 'x', address: 'javascript:alert(1', isImage: false },
    ])
    expect(parseInline('![p](https://evil.example/a.png "t")')).toEqual([
      { kind: 'link', label: 'p', address: 'https://evil.example/a.png', isImage: true },
    ])
  })

  it('keeps HTML as text', () => {
    expect(parseInline('<img src=x onerror=alert(1)>')).toEqual([
      { kind: 'text', text: '<img src=x onerror=alert(1)>' },
    ])
  })
})

describe('Markdown blocks', () => {
  it('reads headings, paragraphs over lines, and rules', () => {
    expect(shapes('# A\n\none\ntwo\n\n---\n### B ##')).toEqual([['h1', 'A'], ['p', 'one two'], ['rule'], ['h3', 'B']])
  })

  it('reads fenced code with what looks like Markdown in it, also while it is being written', () => {
    expect(shapes('```sql\nselect 1\n# no heading\n```\nafter')).toEqual([
      ['code', 'sql', 'select 1\n# no heading'],
      ['p', 'after'],
    ])
    expect(shapes('~~~\nopen')).toEqual([['code', '', 'open']])
  })

  it('reads lists, nested, numbered, with blocks inside', () => {
    expect(shapes('- a\n- b\n  - c\n  - d\n\n- e')).toEqual([
      [
        'list',
        null,
        [['p', 'a']],
        [
          ['p', 'b'],
          ['list', null, [['p', 'c']], [['p', 'd']]],
        ],
        [['p', 'e']],
      ],
    ])
    expect(shapes('3. x\n4. y\n\n   ```\n   z\n   ```')).toEqual([
      [
        'list',
        3,
        [['p', 'x']],
        [
          ['p', 'y'],
          ['code', '', 'z'],
        ],
      ],
    ])
    expect(shapes('- a\nlazy\n\nout')).toEqual([
      ['list', null, [['p', 'a lazy']]],
      ['p', 'out'],
    ])
  })

  it('reads tables, with bars escaped and rows of any length', () => {
    const [table] = parseMarkdown('| n | size |\n|---|--:|\n| a\\|b | 1 |\n| c |\n\nend')
    expect(table && shape(table)).toEqual([
      'table',
      [
        ['n', 'size'],
        ['a|b', '1'],
        ['c', ''],
      ],
    ])
    expect(table?.kind === 'table' && table.head.map(({ align }) => align)).toEqual(['left', 'right'])
    expect(shapes('a | b\nno table')).toEqual([['p', 'a | b no table']])
  })

  it('reads quotes', () => {
    expect(shapes('> a\n> - b\n\nc')).toEqual([
      ['quote', ['p', 'a'], ['list', null, [['p', 'b']]]],
      ['p', 'c'],
    ])
  })

  it('ends for whatever it is given, and keeps the words', () => {
    const mark = fc.constantFrom(
      '*',
      '_',
      '`',
      '~',
      '[',
      '](',
      ')',
      '!',
      '\n',
      '\n\n',
      '- ',
      '1. ',
      '> ',
      '|',
      '---',
      '#',
      '  ',
      '\\',
      '```',
    )
    const source = fc
      .array(fc.oneof(mark, fc.constantFrom('word', 'x', ' ')), { maxLength: 80 })
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(source, (text) => {
        const drawn = JSON.stringify(parseMarkdown(text))
        const words = text.match(/word/g)?.length ?? 0
        expect(drawn.match(/word/g)?.length ?? 0).toBeGreaterThanOrEqual(
          text.includes('](') || text.includes('|') ? 0 : words,
        )
      }),
      { numRuns: 2000 },
    )
  })

  it('reads hostile text to its end', () => {
    for (const text of [
      '*'.repeat(20_000),
      '['.repeat(20_000),
      '`'.repeat(20_001),
      '> '.repeat(5000),
      '- '.repeat(5000),
      '**a '.repeat(5000),
    ]) {
      expect(parseMarkdown(text).length).toBeGreaterThan(0)
    }
  })
})
