import fc from 'fast-check'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { jsx, jsxs } from '../../frontend/src/components/text/visible/jsx-runtime.ts'
import { directedParts, isolatedText } from '../../frontend/src/components/text/visible/visible-text.ts'
import { visibleText } from '../../src/lib/visible-text.ts'

const markup = (element: ReturnType<typeof jsx>): string => renderToStaticMarkup(element)

describe('visible text', () => {
  it.each([
    ['demo.gpj\u202Esredro', String.raw`demo.gpj\u202esredro`],
    ['a\u200Bb', String.raw`a\u200bb`],
    ['soft\u00ADhyphen', String.raw`soft\u00adhyphen`],
    ['bell\u0007 and \u0085', String.raw`bell\u0007 and \u0085`],
    ['line\u2028end', String.raw`line\u2028end`],
    ['tag\u{E0041}', String.raw`tag\u{e0041}`],
    ['t1\uFE0F', String.raw`t1\ufe0f`],
    ['\u2066isolated\u2069', String.raw`\u2066isolated\u2069`],
  ])('shows the hidden character of %j as an escape', (text, shown) => {
    expect(visibleText(text)).toBe(shown)
  })

  it.each(['demo.orders', 'a\tb\nc', 'é ü → … – “x” 漢字', 'e\u0301', '👩‍💻 ❤️ 👍🏽'])('keeps %j as it is', (text) => {
    expect(isolatedText(text)).toBe(text)
  })

  it('isolates words from right to left, so that the text around them keeps its order', () => {
    expect(directedParts('3 files of demo.אבג, 5 deleted')).toEqual(['3 files of demo.', 'אבג', ', 5 deleted'])
    expect(isolatedText('של עולם (2)')).toBe('\u2068של עולם\u2069 (2)')
  })

  it('contains no hidden character, whatever the text', () => {
    const hidden = /[\u202A-\u202E\u2066-\u2069\u200B\u200E\u200F\u061C]|(?![\t\n\r])\p{Cc}/u
    const points = fc.array(fc.nat({ max: 0x10ffff })).map((all) => String.fromCodePoint(...all))
    const isShown = (text: string): boolean =>
      !hidden.test(visibleText(text)) && directedParts(text).join('') === visibleText(text)
    expect(fc.check(fc.property(points, isShown)).failed).toBe(false)
  })

  it('is what elements of the built page show, in their text and in their labels', () => {
    const name = 'x\u202Ey'
    expect(markup(jsx('a', { title: name, 'aria-label': name, href: name, children: name }))).toBe(
      markup(createElement('a', { title: 'x\\u202ey', 'aria-label': 'x\\u202ey', href: name }, String.raw`x\u202ey`)),
    )
    expect(markup(jsxs('p', { children: ['of ', 'אב', ['!', name]] }))).toBe(
      String.raw`<p>of <bdi>אב</bdi>!x\u202ey</p>`,
    )
    expect(markup(jsx('option', { value: name, children: 'אב' }))).toBe(
      `<option value="${name}">\u2068אב\u2069</option>`,
    )
    expect(markup(jsx('input', { defaultValue: name, placeholder: name }))).toContain(`value="${name}"`)
  })

  it('changes the text of a component, and no prop that may be an id', () => {
    const seen: unknown[] = []
    const Row = ({ table, children }: { readonly table: string; readonly children: string }) => {
      seen.push(table)
      return createElement('b', {}, children, table)
    }
    expect(markup(jsx(Row as never, { table: 'x\u202Ey', children: 'of \u202E' }))).toBe(
      String.raw`<b>of \u202e`.concat('x\u202Ey</b>'),
    )
    expect(seen).toEqual(['x\u202Ey'])
  })
})
