import fc from 'fast-check'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { addressKind } from '../../../frontend/src/features/agent/address-kind.ts'
import { isTooCostly } from '../../../frontend/src/features/agent/markdown-cost.ts'
import { MarkdownView } from '../../../frontend/src/features/agent/markdown-view.tsx'

const PAGE = 'https://lockhouse.example/agent/chat-1'

/** Elements that an answer may contain; any other element would bypass the rules. */
const ELEMENTS = new Set(
  `div p h3 h4 h5 ul ol li blockquote pre code table thead tbody tr th td strong em del br hr a span input section sup`.split(
    ' ',
  ),
)

beforeAll(() => vi.stubGlobal('location', new URL(PAGE)))
afterAll(() => vi.unstubAllGlobals())

/** The elements of an answer, without the class names of the page's styles. */
function draw(source: string): string {
  const html = renderToStaticMarkup(createElement(MarkdownView, { source }))
  return html.replaceAll(/ class="[^"]*"/g, '').replace(/^<div>([^]*)<\/div>$/, '$1')
}

describe('an answer in Markdown', () => {
  it('renders emphasis, code and line breaks, and keeps names with underscores unchanged', () => {
    expect(draw('a **b** *c* ~~d~~ `e_f`  \nsmall_file_count')).toBe(
      '<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e_f</code><br/>\nsmall_file_count</p>',
    )
  })

  it('starts its headings below those of the page', () => {
    expect(draw('# A\n## B\n### C\n###### D')).toBe('<h3>A</h3>\n<h3>B</h3>\n<h4>C</h4>\n<h5>D</h5>')
  })

  it('renders lists with their first number, nested, and with tasks', () => {
    expect(draw('3. x\n4. y')).toBe('<ol start="3">\n<li>x</li>\n<li>y</li>\n</ol>')
    expect(draw('- a\n  - b')).toBe('<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>')
    expect(draw('- [x] done')).toContain('<input type="checkbox" disabled="" aria-label="Done" checked=""/>')
  })

  it('makes code and tables scrollable, and labels them', () => {
    expect(draw('```sql\nselect 1\n# no heading\n```')).toBe(
      '<div role="group" aria-label="Code, sql" tabindex="0"><pre><code>select 1\n# no heading\n</code></pre></div>',
    )
    expect(draw('~~~\nstill being written')).toContain('aria-label="Code"')
    const table = draw('| n | size |\n|---|--:|\n| a\\|b | 1 |')
    expect(table).toContain('<div role="group" aria-label="Table" tabindex="0"><table>')
    expect(table).toContain('<th scope="col" style="text-align:right">size</th>')
    expect(table).toContain('<td>a|b</td><td style="text-align:right">1</td>')
  })

  it('gives footnotes of two answers different ids', () => {
    const answer = createElement(MarkdownView, { source: 'a[^1]\n\n[^1]: note' })
    const html = renderToStaticMarkup(createElement('div', {}, answer, createElement(MarkdownView, answer.props)))
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids.length).toBeGreaterThan(3)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('an untrusted answer', () => {
  it('shows HTML as text', () => {
    for (const html of [
      '<img src=x onerror=alert(1)>',
      '<script>alert(1)</script>',
      'a <b onclick="x()">b</b> <!-- c -->',
    ]) {
      const shown = draw(html)
      expect(shown).not.toMatch(/<(?!\/?(p|div)\b)/)
      expect(shown).toContain('&lt;')
    }
  })

  it('loads no image', () => {
    expect(draw('![chart](https://evil.example/a.png?data=1)')).toBe(
      '<p>chart <span>(https://evil.example/a.png?data=1)</span></p>',
    )
    expect(draw('![](/api/tables)')).toBe('<p><span>/api/tables</span></p>')
  })

  it('opens links in a new tab and shows the target of links to other hosts', () => {
    const rest = 'target="_blank" rel="noopener noreferrer"'
    expect(draw('[the table](/tables/demo.events)')).toBe(`<p><a href="/tables/demo.events" ${rest}>the table</a></p>`)
    expect(draw('[https://good.example](https://evil.example/?https://good.example)')).toBe(
      `<p><a href="https://evil.example/?https://good.example" ${rest}>https://good.example</a>` +
        `<span> (https://evil.example/?https://good.example)</span></p>`,
    )
    expect(draw('https://good.example/a')).toBe(
      `<p><a href="https://good.example/a" ${rest}>https://good.example/a</a></p>`,
    )
    expect(draw('www.good.example')).toBe(`<p><a href="http://www.good.example" ${rest}>www.good.example</a></p>`)
    expect(draw('[](//evil.example/a)')).toBe(`<p><a href="//evil.example/a" ${rest}>//evil.example/a</a></p>`)
  })

  it.each([
    ['javascript:alert(1)', 'none'],
    ['JaVaScRiPt:alert(1)', 'none'],
    ['java\nscript:alert(1)', 'none'],
    ['\u0001javascript:alert(1)', 'none'],
    ['data:text/html,<script>alert(1)</script>', 'none'],
    ['vbscript:x', 'none'],
    ['blob:https://lockhouse.example/1', 'none'],
    ['file:///etc/passwd', 'none'],
    ['mailto:a@b.example', 'none'],
    ['https://lockhouse.example@evil.example/', 'none'],
    ['https://', 'none'],
    ['#token=lh_x', 'none'],
    ['', 'none'],
    ['//evil.example', 'outer'],
    ['/\\evil.example', 'outer'],
    ['https:evil.example', 'inner'],
    ['https://lockhouse.example.evil.example/', 'outer'],
    ['http://lockhouse.example/', 'outer'],
    ['/tables/a', 'inner'],
    ['../tables', 'inner'],
  ])('classifies the address %j as %s, as a browser would', (address, kind) => {
    expect(addressKind(address, PAGE)).toBe(kind)
  })

  it('has no link that cannot be opened', () => {
    for (const address of ['javascript:alert(1)', 'JAVASCRIPT&colon;alert(1)', 'data:text/html,x', '#token=lh_x']) {
      expect(draw(`[x](${address}) [y]\n\n[y]: ${address}`)).not.toContain('<a')
    }
  })

  it('contains only known elements, for any input', () => {
    const parts =
      '* _ ` ~~ [x]( ) ![ ](javascript:a) - 1. > | # [^1] [^1]: \\ ``` word <a·href="javascript:x"> <img·onerror=x> [x]:·data:y'
    const part = fc.constantFrom(...parts.split(' ').map((one) => one.replace('·', ' ')), ' ', '\n', '\n\n', '- [ ] ')
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
        const html = draw(parts.join(''))
        for (const [, name = ''] of html.matchAll(/<([a-z0-9]+)/g)) expect(ELEMENTS).toContain(name)
        expect(html).not.toMatch(/<[^>]*\s(on\w+|href="(javascript|data):|src)/i)
      }),
      { numRuns: 500 },
    )
  })

  it('is plain text when parsing would take seconds or overflow the stack', () => {
    for (const text of [
      '> '.repeat(5000),
      '*_'.repeat(10_000),
      `${'**'.repeat(2000)}a${'**'.repeat(2000)}`,
      '['.repeat(20_000),
      Array.from({ length: 300 }, (_, depth) => `${' '.repeat(depth * 2)}- x`).join('\n'),
      Array.from({ length: 500 }, (_, depth) => `${'>'.repeat(depth)} x`).join('\n'),
      '1. '.repeat(1000),
      'word '.repeat(20_000),
    ]) {
      expect(isTooCostly(text), text.slice(0, 40)).toBe(true)
    }
  })

  it('is Markdown in all lengths and depths that models write', () => {
    const row = '| demo.events | 240 | small_file_count | `a_b` | **x** |\n'
    for (const text of [
      `|a|b|c|d|e|\n|-|-|-|-|-|\n${row.repeat(150)}`,
      `\`\`\`json\n${'  "small_file_count": [1, 2],\n'.repeat(200)}\`\`\``,
      'Some *words* with `code` and [a link](https://example.org).\n\n'.repeat(500),
      '- a\n  - b\n    - c\n      - d\n        > e\n',
      `${'-'.repeat(200)}\n`,
    ]) {
      expect(isTooCostly(text), text.slice(0, 40)).toBe(false)
    }
  })

  it('is rendered at the limits of the parser', () => {
    const nested = `${'> '.repeat(29)}x`
    const marks = '*_'.repeat(1000)
    expect(isTooCostly(nested) || isTooCostly(marks)).toBe(false)
    expect(draw(nested).match(/<blockquote>/g)).toHaveLength(29)
    expect(draw(marks)).toMatch(/^<p>|^<hr/)
  })
})
